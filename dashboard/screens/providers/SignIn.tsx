/** Signs in at a provider: by its page and a code, by a code for another device, or with tokens that were made elsewhere. */
import { useEffect, useState } from "react"
import type { Answer } from "../../api/contract.ts"
import { useChange, useRead } from "../../api/query.ts"
import { CodeBlock, CopyButton } from "../../parts/Copy.tsx"
import { Failure, Loaded } from "../../parts/Feedback.tsx"
import { SelectField, TextField, wrongWith } from "../../parts/Field.tsx"
import { Status } from "../../parts/Status.tsx"
import { Countdown } from "../../parts/Time.tsx"
import { Button } from "../../parts/Button.tsx"

const LOOK_MS = 2_000

type Started = Extract<Answer<"POST /api/oauth/:provider/start">, { readonly configured: true }>
type CodeFlow = Extract<Started, { readonly flow: "authorization-code" }>
type DeviceFlow = Extract<Started, { readonly flow: "device-code" }>

const touched = ["GET /api/providers", "GET /api/providers/client", "GET /api/providers/expiration"] as const

/** The connections of a provider when the sign-in began: one more, or one that was renewed, is the end of it. */
const useArrival = (provider: string, onDone: () => void): void => {
  const read = useRead("GET /api/providers", {}, { everyMs: LOOK_MS })
  const [before, setBefore] = useState<string | null>(null)
  const seen = read.data === undefined ? null : read.data.connections.filter((connection) => connection.provider === provider).map(({ id, tokenExpiresAt }) => `${id} ${String(tokenExpiresAt)}`).sort().join()
  if (before === null && seen !== null) setBefore(seen)
  const arrived = before !== null && seen !== null && seen !== before
  useEffect(() => {
    if (arrived) onDone()
  }, [arrived, onDone])
}

const ByCode = ({ onDone, provider, started }: { readonly provider: string; readonly started: CodeFlow; readonly onDone: () => void }) => {
  const [code, setCode] = useState("")
  const exchange = useChange("POST /api/oauth/:provider/exchange", touched, onDone, { said: "Signed in." })
  useArrival(provider, onDone)
  // People paste the whole address that they were sent back to.
  const given = /[?&]code=([^&#]+)/.exec(code)?.[1]
  const finish = (): void => exchange.mutate({ params: { provider }, body: { state: started.state, code: given === undefined ? code.trim() : decodeURIComponent(given) } })
  return (
    <div className="stack">
      <ol className="stack-tight">
        <li><a className="button button-primary" href={started.authorizeUrl} target="_blank" rel="noreferrer noopener">Open the provider's page</a></li>
        <li className="small muted">Agree there. The provider sends you back to the gateway, and this window closes by itself. It waits for <Countdown until={started.expiresAt} />.</li>
      </ol>
      <div className="row"><CopyButton value={started.authorizeUrl}>Copy the address</CopyButton></div>
      <TextField label="Code" value={code} onChange={setCode} hint="Only where the provider could not reach the gateway: the code, or the whole address that you were sent to" wrong={wrongWith(exchange.error, "code")} />
      <Failure what="The sign-in was not finished" error={exchange.error} />
      <div className="dialog-foot"><Button disabled={exchange.isPending || code.trim() === ""} onClick={finish}>Finish with the code</Button></div>
    </div>
  )
}

const ByDevice = ({ onDone, provider, started }: { readonly provider: string; readonly started: DeviceFlow; readonly onDone: () => void }) => {
  const poll = useChange("POST /api/oauth/:provider/poll", [], (answer) => {
    if (answer.status === "complete") onDone()
  })
  const { data, isError, isPending, mutate } = poll
  const intervalMs = data?.status === "pending" ? data.intervalMs : started.intervalMs
  useEffect(() => {
    if (isPending || isError || data?.status === "complete") return
    const timer = setTimeout(() => mutate({ params: { provider }, body: { state: started.state } }), intervalMs)
    return () => clearTimeout(timer)
  }, [data, intervalMs, isError, isPending, mutate, provider, started.state])
  return (
    <div className="stack">
      <p>Open <a href={started.verificationUriComplete ?? started.verificationUri} target="_blank" rel="noreferrer noopener">{started.verificationUri}</a> on any device, and type this code:</p>
      <CodeBlock label="code for the device" text={started.userCode} />
      <p role="status"><Status tone="info" word="Waits for you" /> <span className="small muted">for <Countdown until={started.expiresAt} /></span></p>
      <Failure what="The sign-in ended" error={poll.error} />
    </div>
  )
}

const Import = ({ onDone, provider }: { readonly provider: string; readonly onDone: () => void }) => {
  const [name, setName] = useState("")
  const [accessToken, setAccess] = useState("")
  const [refreshToken, setRefresh] = useState("")
  const store = useChange("POST /api/oauth/:provider/import", touched, onDone, { said: "The tokens are stored." })
  return (
    <div className="stack">
      <TextField label="Name of the connection" value={name} onChange={setName} wrong={wrongWith(store.error, "name")} />
      <TextField label="Access token" type="password" value={accessToken} onChange={setAccess} wrong={wrongWith(store.error, "accessToken")} />
      <TextField label="Refresh token" type="password" value={refreshToken} onChange={setRefresh} hint="Without one the access token is sent until it ends" wrong={wrongWith(store.error, "refreshToken")} />
      <Failure what="The tokens were not stored" error={store.error} />
      <div className="dialog-foot">
        <Button kind="primary" disabled={store.isPending || accessToken.trim() === ""} onClick={() => store.mutate({
          params: { provider }, body: { accessToken: accessToken.trim(), ...(refreshToken.trim() === "" ? {} : { refreshToken: refreshToken.trim() }), ...(name.trim() === "" ? {} : { name: name.trim() }) }
        })}>Store the tokens</Button>
      </div>
    </div>
  )
}

const words = { "authorization-code": "On the provider's page", "device-code": "With a code on another device", import: "With tokens made elsewhere" } as const
type Way = keyof typeof words

/** `connectionId`: sign in again for this connection instead of making a new one. */
export const SignIn = ({ connectionId, onDone, provider }: { readonly provider: string; readonly connectionId?: string; readonly onDone: () => void }) => {
  const offer = useRead("GET /api/oauth/:provider", { params: { provider } })
  const [chosen, setWay] = useState<string | null>(null)
  const [tenant, setTenant] = useState("")
  const start = useChange("POST /api/oauth/:provider/start", [])
  const started = start.data?.configured === true ? start.data : null
  return (
    <Loaded read={offer} what="The sign-in">
      {({ configured, flows, missing, redirectUri }) => {
        const ways: ReadonlyArray<Way> = [...(configured ? flows : []), "import"]
        const way = ways.find((each) => each === chosen) ?? ways[0] ?? "import"
        if (started !== null) return started.flow === "authorization-code" ? <ByCode provider={provider} started={started} onDone={onDone} /> : <ByDevice provider={provider} started={started} onDone={onDone} />
        return (
          <div className="stack">
            {configured ? null : (
              <div className="well stack-tight">
                <p>The gateway is no client of this provider yet. Register one there with this address, then set {missing.map((name) => <code key={name}>{name} </code>)}and start the gateway again.</p>
                <CodeBlock label="redirect address" text={redirectUri} />
              </div>
            )}
            <SelectField label="How" value={way} choices={ways.map((value) => ({ value, word: words[value] }))} onChange={setWay} />
            {way === "import" ? <Import provider={provider} onDone={onDone} /> : (
              <>
                {provider.startsWith("azure") ? <TextField label="Tenant" value={tenant} onChange={setTenant} hint="Empty: the usual one" /> : null}
                <Failure what="The sign-in did not begin" error={start.error} />
                <div className="dialog-foot">
                  <Button kind="primary" disabled={start.isPending} onClick={() => start.mutate({
                    params: { provider }, body: { flow: way, ...(connectionId === undefined ? {} : { connectionId }), ...(tenant === "" ? {} : { providerSpecificData: { tenant } }) }
                  })}>Begin</Button>
                </div>
              </>
            )}
          </div>
        )
      }}
    </Loaded>
  )
}
