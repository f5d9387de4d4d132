/** Public addresses of this gateway, through programs of the operator's: opened, closed, and how they stand. */
import { useState } from "react"
import type { Answer } from "../../api/contract.ts"
import { useChange, useRead } from "../../api/query.ts"
import { CodeBlock } from "../../parts/Copy.tsx"
import { Confirm } from "../../parts/Dialog.tsx"
import { Failure, isSettled, Loaded, Skeleton } from "../../parts/Feedback.tsx"
import { Switch } from "../../parts/Field.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status, type Tone } from "../../parts/Status.tsx"
import { Ago, Countdown } from "../../parts/Time.tsx"
import { Button } from "../../parts/Button.tsx"

const EVERY_MS = 3_000

const kinds = [
  { kind: "cloudflared", word: "Cloudflare", about: "A quick tunnel has another address after each start; GATEWAY_CLOUDFLARED_TOKEN gives it one that stays." },
  { kind: "ngrok", word: "ngrok", about: "The address of your account, by GATEWAY_NGROK_AUTHTOKEN or ngrok's own file." },
  { kind: "tailscale", word: "Tailscale", about: "A Funnel of this machine, for a tailnet whose policy allows it." }
] as const
type Of = typeof kinds[number]
type Stand = Answer<"GET /api/tunnels/:kind">

const touched = ["GET /api/tunnels/:kind", "GET /api/tunnels/tailscale/check"] as const

const stateOf = ({ enabled, installed, phase }: Stand): { readonly tone: Tone; readonly word: string } =>
  !installed ? { tone: "off", word: "Not installed" } : phase === "running" ? { tone: "ok", word: "Open" } : phase === "needs_auth" ? { tone: "warn", word: "Needs a sign-in or a token" }
    : phase === "error" ? { tone: "bad", word: "Failed" } : enabled ? { tone: "info", word: "Starts" } : { tone: "off", word: "Closed" }

/** What only Tailscale needs: a daemon, and a machine that is signed in. */
const Machine = () => {
  const read = useRead("GET /api/tunnels/tailscale/check", {}, { everyMs: EVERY_MS })
  const start = useChange("POST /api/tunnels/tailscale/start-daemon", touched, undefined, { said: "A tailscaled runs.", isRecord: false })
  const signIn = useChange("POST /api/tunnels/tailscale/login", touched)
  const error = start.error ?? signIn.error
  const address = signIn.data?.authUrl ?? read.data?.authUrl ?? null
  return (
    <Loaded read={read} what="Tailscale on this machine" rows={1}>
      {({ backendState, daemonRunning, loggedIn, ownDaemon, reason }) => (
        <div className="stack-tight">
          <p><Status tone={loggedIn ? "ok" : "warn"} word={loggedIn ? "Signed in" : daemonRunning ? "Not signed in" : "No tailscaled answers"} /> <span className="small muted wrap">{[ownDaemon ? "the gateway's own daemon" : null, backendState, reason].filter((part) => part !== null).join("; ")}</span></p>
          {address === null ? null : <p><a href={address} target="_blank" rel="noreferrer noopener" className="wrap">{address}</a></p>}
          <Failure what="It was not done" error={error} />
          <div className="row">
            {daemonRunning ? null : <Button kind="small" disabled={start.isPending} onClick={() => start.mutate({})}>Run a tailscaled</Button>}
            {daemonRunning && !loggedIn ? <Button kind="small" disabled={signIn.isPending} onClick={() => signIn.mutate({})}>Sign the machine in</Button> : null}
          </div>
        </div>
      )}
    </Loaded>
  )
}

const Tunnel = ({ of: { about, kind, word }, stand }: { readonly of: Of; readonly stand: Stand }) => {
  const [asks, setAsks] = useState(false)
  const act = useChange("POST /api/tunnels/:kind", touched, () => setAsks(false), {
    said: ({ action, success }) => action === "disable" ? `${word} is closed.` : success ? `${word} is open, or opens.` : `${word} did not open.`, isRecord: false
  })
  const set = (on: boolean): void => act.mutate({ params: { kind }, body: { action: on ? "enable" : "disable" } })
  const state = stateOf(stand)
  const { apiUrl, enabled, failures, installed, lastError, nextTryAt, phase, since, supported, targetUrl } = stand
  const failed = `${word} was not changed`
  return (
    <Panel title={word} actions={<span className="row"><Status tone={act.isPending ? "info" : state.tone} word={act.isPending ? "Under way" : state.word} /><Switch label={`${word} is open`} checked={enabled} disabled={act.isPending || !supported || !installed && !enabled} onChange={(on) => on ? setAsks(true) : set(false)} /></span>}>
      <div className="panel-body">
        <p className="small muted wrap">{about}</p>
        {apiUrl === null ? null : <CodeBlock label={`base URL through ${word}`} text={apiUrl} />}
        {installed || !supported ? null : <p className="small wrap">Install <code>{kind}</code> on the gateway's machine, or say where it is in <code>GATEWAY_{kind.toUpperCase()}_PATH</code>. The gateway installs nothing.</p>}
        {lastError === null || phase === "running" ? null : <p className="wrap">{lastError}</p>}
        {!enabled || since === null ? null : <p className="small muted">since <Ago at={since} />{failures === 0 ? null : `, ${failures} failures in a row`}{nextTryAt === null ? null : <>, tried again in <Countdown until={nextTryAt} /></>}; leads to {targetUrl}</p>}
        {kind === "tailscale" && installed && supported ? <Machine /> : null}
        <Failure what={failed} error={asks ? null : act.error} />
      </div>
      {asks ? (
        <Confirm title={`Open ${word} to the internet?`} confirm="Open it" pending={act.isPending} onClose={() => setAsks(false)} onConfirm={() => set(true)} failed={failed} error={act.error}>
          <p>Everybody who knows the address reaches this gateway, and its sign-in. Keys and the password guard it. It is opened again after a restart.</p>
        </Confirm>
      ) : null}
    </Panel>
  )
}

const Tunnels = () => {
  const cloudflared = useRead("GET /api/tunnels/:kind", { params: { kind: "cloudflared" } }, { everyMs: EVERY_MS })
  const ngrok = useRead("GET /api/tunnels/:kind", { params: { kind: "ngrok" } }, { everyMs: EVERY_MS })
  const tailscale = useRead("GET /api/tunnels/:kind", { params: { kind: "tailscale" } }, { everyMs: EVERY_MS })
  const reads = { cloudflared, ngrok, tailscale }
  return (
    <Page title="Tunnels" lead="A public address without a port in a firewall. The gateway runs a program of yours for it, starts it again when it dies, and ends it with itself.">
      {!isSettled(cloudflared, ngrok, tailscale) ? <Skeleton rows={8} /> : (
        <>
          {cloudflared.data?.supported === false ? <div className="panel panel-body" role="status"><p>This node opens none. Start it with <code>GATEWAY_TUNNELS=on</code>, and switch the flag <code>REQUIRE_API_KEY</code> on.</p></div> : null}
          {kinds.map((of) => <Loaded key={of.kind} read={reads[of.kind]} what={of.word}>{(stand) => <Tunnel of={of} stand={stand} />}</Loaded>)}
        </>
      )}
    </Page>
  )
}

export default Tunnels
