/** Every call to a provider, newest first: found by filters that stand in the address, with those that run on top. */
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import { memo, useEffect, useRef, useState } from "react"
import { queryClient, useRead } from "../../api/query.ts"
import { gatewayAddress } from "../../app/place.ts"
import { count, duration, money, tokens } from "../../format/numbers.ts"
import { clock, exact } from "../../format/time.ts"
import { after, type Running } from "../../live/running.ts"
import { useLive } from "../../live/socket.ts"
import { CodeBlock } from "../../parts/Copy.tsx"
import { Empty, Loaded } from "../../parts/Feedback.tsx"
import { SelectField, TextField } from "../../parts/Field.tsx"
import { useNow } from "../../parts/now.ts"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Table } from "../../parts/Table.tsx"
import { type CallLog, toneOf } from "./outcome.ts"

/** The list is read again so often, ms: a row may reach the database after the event of its request, or after the socket opened. */
const POLL_MS = 5_000
/** Requests that end within this time are read together, ms. */
const TOGETHER_MS = 400
const DEFAULT_LIMIT = "100"

const limits = ["50", "100", "250", "500"]
const statuses = [
  { value: "", word: "Any" }, { value: "success", word: "Success" }, { value: "error", word: "Error" }, { value: "4xx", word: "4xx" }, { value: "5xx", word: "5xx" }, { value: "429", word: "429" }
]

const InFlight = ({ running }: { readonly running: ReadonlyMap<string, Running> }) => {
  const now = useNow()
  if (running.size === 0) return null
  return (
    <Panel title={`In flight (${running.size})`}>
      <Table label="Requests in flight">
          <thead><tr><th scope="col">State</th><th scope="col">Asked for</th><th scope="col">Provider</th><th scope="col">Combo</th><th scope="col" className="end">Age</th><th scope="col" className="end">Tokens so far</th></tr></thead>
          <tbody>
            {[...running.values()].map((request) => (
              <tr key={request.id}>
                <td><Status tone="info" word={request.tokens > 0 ? "Streams" : "Waits"} /></td>
                <td className="cut" title={request.model}>{request.model}</td>
                <td className="cut">{request.provider ?? "–"}</td>
                <td className="cut">{request.combo ?? "–"}</td>
                <td className="end">{duration(Math.max(0, now - Date.parse(request.startedAt)))}</td>
                <td className="end">{request.tokens === 0 ? "–" : `≈ ${tokens(request.tokens)}`}</td>
              </tr>
            ))}
          </tbody>
        </Table>
    </Panel>
  )
}

/** Drawn again only when its call changed: the list may hold 500 rows. */
const Row = memo(({ log, now }: { readonly log: CallLog; readonly now: number }) => (
  <tr>
    <td className="nowrap number"><Link className="row-link" to="/requests/$id" params={{ id: log.requestId }} title={exact(log.timestamp)}>{clock(log.timestamp, now)}</Link></td>
    <td><Status tone={toneOf(log)} word={String(log.status)} title={log.error ?? log.outcome} /></td>
    <td className="cut" title={log.requestedModel}>{log.requestedModel}</td>
    <td className="cut" title={`${log.provider}/${log.model}`}>{log.provider}{log.attempt > 1 ? <> <span className="tag" title="Which attempt of its request this is">attempt {log.attempt}</span></> : null}</td>
    <td className="cut" title={log.apiKeyName ?? undefined}>{log.apiKeyName ?? <span className="muted">–</span>}</td>
    <td className="end">{duration(log.ttft)}</td>
    <td className="end">{duration(log.duration)}</td>
    <td className="end" title={`${count(log.tokensIn)} in, ${count(log.tokensOut)} out`}>{tokens(log.tokensIn)} / {tokens(log.tokensOut)}</td>
    <td className="end">{log.estimated ? "≈ " : ""}{money(log.cost)}</td>
  </tr>
))
Row.displayName = "Row"

const Requests = () => {
  const search = useSearch({ from: "/requests" })
  const navigate = useNavigate({ from: "/requests" })
  const [isLive, setLive] = useState(true)
  const [running, setRunning] = useState<ReadonlyMap<string, Running>>(new Map())
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const state = useLive(["requests"], isLive, (event) => {
    setRunning((before) => after(before, event).running)
    if (event.event !== "request.completed" && event.event !== "request.failed") return
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      void queryClient.invalidateQueries({ queryKey: ["GET /api/usage/call-logs"] })
    }, TOGETHER_MS)
  })
  const { combo, key, limit = DEFAULT_LIMIT, model, provider, search: text, status } = search
  const read = useRead("GET /api/usage/call-logs", { query: { status, model, provider, combo, apiKey: key, search: text, limit } }, { everyMs: isLive ? POLL_MS : null })
  const set = (change: Partial<typeof search>): void => void navigate({ search: Object.fromEntries(Object.entries({ ...search, ...change }).filter(([, value]) => value !== "")), replace: true })
  const filtered = [combo, key, model, provider, text, status].some((value) => value !== undefined)
  // The day is all that rows need of the time.
  const today = new Date(read.dataUpdatedAt).setHours(0, 0, 0, 0)
  return (
    <Page
      title="Requests"
      lead="One row is one call to a provider. A request that fell back has several."
      actions={
        <>
          <span role="status"><Status tone={!isLive ? "off" : state === "live" ? "ok" : "warn"} word={!isLive ? "Paused" : state === "live" ? "Live" : "Polling"} /></span>
          <button type="button" className="button" onClick={() => setLive(!isLive)}>{isLive ? "Pause" : "Go on"}</button>
        </>
      }
    >
      {isLive ? <InFlight running={running} /> : null}
      <Panel>
        <div className="panel-head">
          <div className="filters">
            <TextField className="field-wide" label="Find" type="search" value={text ?? ""} placeholder="Request id, model, key, error …" onChange={(value) => set({ search: value })} />
            <SelectField label="Status" value={status ?? ""} choices={statuses} onChange={(value) => set({ status: value })} />
            <TextField label="Model" value={model ?? ""} onChange={(value) => set({ model: value })} />
            <TextField label="Provider" value={provider ?? ""} onChange={(value) => set({ provider: value })} />
            <TextField label="Key" value={key ?? ""} onChange={(value) => set({ key: value })} />
            <SelectField label="Rows" value={limit} choices={limits.map((value) => ({ value, word: value }))} onChange={(value) => set({ limit: value === DEFAULT_LIMIT ? "" : value })} />
          </div>
          {filtered ? <button type="button" className="button button-small" onClick={() => void navigate({ search: {} })}>Clear filters</button> : null}
        </div>
        <Loaded read={read} what="The requests" rows={8}>
          {(logs) => logs.length === 0
            ? filtered ? <Empty icon="search" title="No request fits the filters" action={<button type="button" className="button" onClick={() => void navigate({ search: {} })}>Clear filters</button>} /> : (
              <Empty icon="requests" title="No request yet" action={<Link to="/play" className="button button-primary">Ask in the playground</Link>}>
                Or from a shell, without any provider:
                <CodeBlock label="curl command" text={`curl -N ${gatewayAddress}/v1/chat/completions -H 'Content-Type: application/json' \\\n  -d '{"model":"sim/echo","stream":true,"messages":[{"role":"user","content":"Hello"}]}'`} />
              </Empty>
            )
            : (
              <Table label="Requests" isStale={read.isPlaceholderData}>
                  <thead>
                    <tr>
                      <th scope="col">Time</th><th scope="col">Status</th><th scope="col">Asked for</th><th scope="col">Provider</th><th scope="col">Key</th>
                      <th scope="col" className="end">First token</th><th scope="col" className="end">Whole</th><th scope="col" className="end">Tokens in / out</th><th scope="col" className="end">Cost</th>
                    </tr>
                  </thead>
                  <tbody>{logs.map((log) => <Row key={log.id} log={log} now={today} />)}</tbody>
                </Table>
            )}
        </Loaded>
      </Panel>
    </Page>
  )
}

export default Requests
