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
import { Form } from "../../parts/edit/Form.tsx"
import { Button } from "../../parts/Button.tsx"
import { codeOf, type Language, languages } from "./code.ts"
import { type Ask, type FormatName, formatOf, formats } from "./formats.ts"
import { Frames, Strip } from "./Frames.tsx"
import { Microscope } from "./Microscope.tsx"
import { Outcome } from "./Outcome.tsx"
import { states } from "./states.ts"
import { type Asked, useStreams } from "./useStream.ts"

/** How long a key lives that is made for the playground, ms. */
const KEY_LIVES_MS = 3_600_000
const MOST_MODELS = 2_000

const ways = [{ value: "one", word: "One answer" }, { value: "formats", word: "Six formats side by side" }, { value: "models", word: "Up to four models side by side" }]
/** Models beside the first one. */
const MOST_OTHERS = 3

/** What is sent at once. */
const askedOf = (way: string, format: FormatName, ask: Ask, others: string): ReadonlyArray<Asked> => {
  if (way === "formats") return (Object.keys(formats) as ReadonlyArray<FormatName>).map((each) => ({ id: each, format: each, ask }))
  const models = way === "models" ? others.split(",").map((name) => name.trim()).filter((name) => name !== "").slice(0, MOST_OTHERS) : []
  return [...new Set([ask.model, ...models])].map((model) => ({ id: `${format} ${model}`, format, ask: { ...ask, model } }))
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

type Members = Readonly<Record<string, unknown>>

/** Members of a body as they are typed; null for what is no JSON object. */
const membersOf = (text: string): Members | null => {
  if (text.trim() === "") return {}
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value as Members : null
  } catch {
    return null
  }
}

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
  const [more, setMore] = useState("")
  const [way, setWay] = useState("one")
  const [others, setOthers] = useState("")
  const [language, setLanguage] = useState<Language>("curl")
  const [asked, setAsked] = useState<ReadonlyArray<Asked>>([])
  const { runs, start, stop } = useStreams()
  const models = useModels(key)
  const list = useId()
  const keyNeeded = useRead("GET /api/keys", { query: { limit: 1 } })
  const mint = useChange("POST /api/keys", ["GET /api/keys"], (made) => setKey(made.key))
  const members = membersOf(more)
  const request: Ask = { model, prompt, system, maxTokens: numberOf(maxTokens), temperature: numberOf(temperature), more: members ?? {} }
  const go = (): void => {
    const list = askedOf(way, format, request, others)
    setAsked(list)
    void start(list, key)
  }
  const canSend = model !== "" && prompt !== "" && members !== null
  const busy = asked.some(({ id }) => runs[id]?.state === "streaming")
  const only = asked.length === 1 ? asked[0] : undefined
  const run = only === undefined ? null : runs[only.id] ?? null
  return (
    <Page title="Playground" lead="A request as a client would send it. It is routed, limited and accounted for like any other.">
      <div className="split">
        <Form className="panel" onSubmit={() => {
          if (!busy && canSend) go()
        }}>
          <div className="panel-body">
            <div className="grid-fields">
              <TextField label="Model or combo" value={model} list={list} required onChange={(value) => set({ model: value })} />
              <SelectField label="Wire format" value={format} disabled={way === "formats"} choices={Object.entries(formats).map(([value, { word }]) => ({ value, word }))} onChange={(value) => set({ format: value })} />
            </div>
            <div className="grid-fields">
              <SelectField label="Ask for" value={way} choices={ways} onChange={setWay} />
              {way === "models" ? <TextField label="Other models" value={others} onChange={setOthers} hint="Three at most, separated by commas" /> : null}
            </div>
            <datalist id={list}>{(models.data ?? []).map((id) => <option key={id} value={id}>{id}</option>)}</datalist>
            <AreaField
              label="Prompt" value={prompt} rows={6} onChange={setPrompt} hint="Ctrl Enter sends, Esc stops."
              onKeyDown={(event) => {
                if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !busy && canSend) go()
                if (event.key === "Escape") stop()
              }}
            />
            <details>
              <summary>System prompt, limits, tools and key</summary>
              <div className="stack" style={{ paddingTop: "1rem" }}>
                <AreaField label="System prompt" value={system} rows={3} onChange={setSystem} />
                <div className="grid-fields">
                  <TextField label="Most tokens" type="number" value={maxTokens} onChange={setMaxTokens} placeholder="the model's own" />
                  <TextField label="Temperature" type="number" value={temperature} onChange={setTemperature} placeholder="the model's own" />
                </div>
                <AreaField label="Other members of the body, JSON" value={more} rows={3} onChange={setMore} hint="Tools, images and parameters as the wire format names them; they win over the fields above" wrong={members === null ? "Not a JSON object" : undefined} />
                <TextField label="Key" type="password" value={key} onChange={setKey} placeholder="none" hint="Kept in this page only. Without one the gateway answers only while it requires none." />
                {keyNeeded.data === undefined ? null : (
                  <div className="row">
                    <Button kind="small" disabled={mint.isPending} onClick={() => mint.mutate({ body: { name: "playground", expiresAt: new Date(Date.now() + KEY_LIVES_MS).toISOString() } })}>
                      <Icon name="keys" size={16} />Make a key for one hour
                    </Button>
                  </div>
                )}
                <Failure what="No key was made" error={mint.error} />
              </div>
            </details>
            <div className="row">
              {busy
                ? <Button onClick={stop}><Icon name="stop" size={16} />Stop</Button>
                : <Button type="submit" kind="primary" disabled={!canSend}><Icon name="play" size={16} />Send</Button>}
            </div>
          </div>
        </Form>
        <div className="stack">
          <Panel title="Answer" actions={run === null ? null : <Status {...states[run.state]} />}>
            {asked.length > 1 ? <p className="panel-body muted">The answers stand side by side below.</p> : run === null ? <Empty icon="play" title="Nothing sent yet">The simulator’s model <code>sim/echo</code> answers at once, without any provider.</Empty> : (
              <div className="panel-body">
                <Failure what={run.text === "" ? "No answer came" : "The answer broke off"} error={run.error} />
                {run.status === 401 ? <p>This gateway requires a key. Open “System prompt, limits, tools and key” and make one for an hour.</p> : null}
                {run.text === "" && run.error !== null ? null : <div className={`answer${busy ? " cursor" : ""}`} role="log" aria-label="Answer">{run.text}</div>}
                <dl className="tiles">
                  <div className="tile"><dt>First token</dt><dd>{duration(run.firstMs)}</dd></div>
                  <div className="tile"><dt>Whole</dt><dd>{duration(run.totalMs)}</dd></div>
                  <div className="tile"><dt>Frames</dt><dd>{count(run.frameCount)}</dd><dd className="unit">longest gap {duration(run.longestGapMs)}</dd></div>
                </dl>
                {run.frameCount === 0 ? null : <Strip run={run} label="Frames over time" />}
                {run.omitted === "" ? null : <p className="small wrap">The target does not know, and was not sent: <code>{run.omitted}</code></p>}
              </div>
            )}
          </Panel>
          {run === null || run.requestId === null || busy ? null : <Panel title="Cost and decision"><div className="panel-body"><Outcome requestId={run.requestId} /></div></Panel>}
          {run === null || run.frameCount === 0 || busy ? null : <section className="panel" aria-label="Frames of the stream"><div className="panel-body"><Frames run={run} word="Frames as they came" label="Frames" /></div></section>}
          <details className="panel">
            <summary className="panel-head">The same as code</summary>
            <div className="panel-body">
              <SelectField label="Language" value={language} choices={Object.entries(languages).map(([value, word]) => ({ value, word }))} onChange={(value) => setLanguage(value in languages ? value as Language : "curl")} />
              <CodeBlock label="code" text={codeOf(language, format, request, gatewayAddress, key !== "")} />
            </div>
          </details>
        </div>
      </div>
      {asked.length > 1 ? <Microscope asked={asked} runs={runs} /> : null}
    </Page>
  )
}

export default Playground
