/** Asks any model over any of the six wire formats, and shows the stream, its frames, its cost and the router's decision. */
import { useQuery } from "@tanstack/react-query"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useId, useState } from "react"
import { ask as send } from "../../api/call.ts"
import { useChange, useRead } from "../../api/query.ts"
import { gatewayAddress } from "../../app/place.ts"
import { count, duration } from "../../format/numbers.ts"
import { CodeBlock } from "../../parts/Copy.tsx"
import { Empty, Failure } from "../../parts/Feedback.tsx"
import { AreaField, SelectField, TextField } from "../../parts/Field.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { type Ask, formatOf, formats } from "./formats.ts"
import { Outcome } from "./Outcome.tsx"
import { type Run, useStream } from "./useStream.ts"

/** How long a key lives that is made for the playground, ms. */
const KEY_LIVES_MS = 3_600_000
const MOST_MODELS = 2_000

const states: Readonly<Record<Run["state"], { readonly tone: "ok" | "info" | "skip" | "bad"; readonly word: string }>> = {
  streaming: { tone: "info", word: "Streaming" },
  done: { tone: "ok", word: "Done" },
  stopped: { tone: "skip", word: "Stopped" },
  failed: { tone: "bad", word: "Failed" }
}

/** Names of models that may be called; with a key those of the key. */
const useModels = (key: string) => useQuery({
  queryKey: ["models", key],
  queryFn: async ({ signal }): Promise<ReadonlyArray<string>> => {
    const reply = await send("/v1/models", { signal, headers: key === "" ? {} : { authorization: `Bearer ${key}` } })
    const body = await reply.json().catch(() => null) as { readonly data?: ReadonlyArray<{ readonly id?: unknown }> } | null
    return (body?.data ?? []).flatMap(({ id }) => typeof id === "string" ? [id] : []).slice(0, MOST_MODELS)
  },
  staleTime: 60_000
})

const numberOf = (text: string): number | null => text.trim() === "" || !Number.isFinite(Number(text)) ? null : Number(text)

const Playground = () => {
  const search = useSearch({ from: "/play" })
  const navigate = useNavigate({ from: "/play" })
  const format = formatOf(search.format)
  const model = search.model ?? "sim/echo"
  const set = (change: { readonly model?: string; readonly format?: string }): void => void navigate({ search: { ...search, ...change }, replace: true })
  const [prompt, setPrompt] = useState("Explain in two sentences what a gateway for models does.")
  const [system, setSystem] = useState("")
  const [maxTokens, setMaxTokens] = useState("")
  const [temperature, setTemperature] = useState("")
  const [key, setKey] = useState("")
  const { run, start, stop } = useStream()
  const models = useModels(key)
  const list = useId()
  const keyNeeded = useRead("GET /api/keys", { query: { limit: 1 } })
  const mint = useChange("POST /api/keys", ["GET /api/keys"], (made) => setKey(made.key))
  const request: Ask = { model, prompt, system, maxTokens: numberOf(maxTokens), temperature: numberOf(temperature) }
  const go = (): void => void start(format, request, key)
  const busy = run?.state === "streaming"
  const curl = `curl -N '${gatewayAddress}${formats[format].path(model)}' \\\n  -H 'Content-Type: application/json'${key === "" ? "" : " -H 'Authorization: Bearer <key>'"} \\\n  -d '${JSON.stringify(formats[format].body(request)).replaceAll("'", "'\\''")}'`
  return (
    <Page title="Playground" lead="A request as a client would send it. It is routed, limited and accounted for like any other.">
      <div className="split">
        <form
          className="panel"
          onSubmit={(event) => {
            event.preventDefault()
            if (!busy) go()
          }}
        >
          <div className="panel-body">
            <div className="grid-fields">
              <TextField label="Model or combo" value={model} list={list} required onChange={(value) => set({ model: value })} />
              <SelectField label="Wire format" value={format} choices={Object.entries(formats).map(([value, { word }]) => ({ value, word }))} onChange={(value) => set({ format: value })} />
            </div>
            <datalist id={list}>{(models.data ?? []).map((id) => <option key={id} value={id}>{id}</option>)}</datalist>
            <AreaField
              label="Prompt" value={prompt} rows={6} onChange={setPrompt} hint="Ctrl Enter sends, Esc stops."
              onKeyDown={(event) => {
                if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !busy) go()
                if (event.key === "Escape") stop()
              }}
            />
            <details>
              <summary>System prompt, limits and key</summary>
              <div className="stack" style={{ paddingTop: "1rem" }}>
                <AreaField label="System prompt" value={system} rows={3} onChange={setSystem} />
                <div className="grid-fields">
                  <TextField label="Most tokens" type="number" value={maxTokens} onChange={setMaxTokens} placeholder="the model's own" />
                  <TextField label="Temperature" type="number" value={temperature} onChange={setTemperature} placeholder="the model's own" />
                </div>
                <TextField label="Key" type="password" value={key} onChange={setKey} placeholder="none" hint="Kept in this page only. Without one the gateway answers only while it requires none." />
                {keyNeeded.data === undefined ? null : (
                  <div className="row">
                    <button type="button" className="button button-small" disabled={mint.isPending} onClick={() => mint.mutate({ body: { name: "playground", expiresAt: new Date(Date.now() + KEY_LIVES_MS).toISOString() } })}>
                      <Icon name="keys" size={16} />Make a key for one hour
                    </button>
                  </div>
                )}
                {mint.error === null ? null : <Failure what="No key was made" error={mint.error} />}
              </div>
            </details>
            <div className="row">
              {busy
                ? <button type="button" className="button" onClick={stop}><Icon name="stop" size={16} />Stop</button>
                : <button type="submit" className="button button-primary" disabled={model === "" || prompt === ""}><Icon name="play" size={16} />Send</button>}
            </div>
          </div>
        </form>
        <div className="stack">
          <Panel title="Answer" actions={run === null ? null : <Status {...states[run.state]} />}>
            {run === null ? <Empty icon="play" title="Nothing sent yet">The simulator’s model <code>sim/echo</code> answers at once, without any provider.</Empty> : (
              <div className="panel-body">
                {run.error === null ? null : <Failure what={run.text === "" ? "No answer came" : "The answer broke off"} error={run.error} />}
                {run.status === 401 ? <p>This gateway requires a key. Open “System prompt, limits and key” and make one for an hour.</p> : null}
                {run.text === "" && run.error !== null ? null : <div className={`answer${busy ? " cursor" : ""}`} role="log" aria-label="Answer">{run.text}</div>}
                <dl className="tiles">
                  <div className="tile"><dt>First token</dt><dd>{duration(run.firstMs)}</dd></div>
                  <div className="tile"><dt>Whole</dt><dd>{duration(run.totalMs)}</dd></div>
                  <div className="tile"><dt>Frames</dt><dd>{count(run.frameCount)}</dd></div>
                </dl>
              </div>
            )}
          </Panel>
          {run === null || run.requestId === null || busy ? null : <Panel title="Cost and decision"><div className="panel-body"><Outcome requestId={run.requestId} /></div></Panel>}
          {run === null || run.frameCount === 0 || busy ? null : (
            <details className="panel">
              <summary className="panel-head">Frames as they came</summary>
              <div className="panel-body"><pre className="well well-scroll" tabIndex={0} aria-label="Frames">{run.frames.map(({ raw }) => raw).join("\n\n")}</pre></div>
            </details>
          )}
          <details className="panel">
            <summary className="panel-head">The same with curl</summary>
            <div className="panel-body"><CodeBlock label="curl command" text={curl} /></div>
          </details>
        </div>
      </div>
    </Page>
  )
}

export default Playground
