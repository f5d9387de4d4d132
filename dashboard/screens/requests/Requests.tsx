/** Every call to a provider, newest first: found by filters that stand in the address, read in a drawer, with those that run on top. */
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import { useCallback, useEffect, useMemo, useRef, useState } from "react"
import { gatewayNow } from "../../api/clock.ts"
import { useRead } from "../../api/query.ts"
import { gatewayAddress } from "../../app/place.ts"
import { keysAct } from "../../app/privacy.ts"
import { count } from "../../format/numbers.ts"
import { beginOf, isRange } from "../../format/ranges.ts"
import { filled } from "../../format/members.ts"
import { useRunning } from "../../live/useRunning.ts"
import { CodeBlock, save } from "../../parts/Copy.tsx"
import { Empty, Failure, Skeleton } from "../../parts/Feedback.tsx"
import { SelectField, TextField } from "../../parts/Field.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Button } from "../../parts/Button.tsx"
import { useCalls } from "./CallList.ts"
import { Drawer } from "./Drawer.tsx"
import { Facets, facets, type FilterName } from "./Facets.tsx"
import { Histogram } from "./Histogram.tsx"
import { InFlight } from "./InFlight.tsx"
import { callsCsv, MOST_ROWS } from "./rows.ts"
import { bringIntoView, Rows } from "./Rows.tsx"
import { isTyping, rangeOf, spansOf, statuses } from "./filters.ts"

/** The list is read again so often, ms: a row may reach the database after the event of its request, or after the socket opened. */
const POLL_MS = 5_000
/** Requests that end within this time are read together, ms. */
const TOGETHER_MS = 400

const Requests = () => {
  const search = useSearch({ from: "/requests" })
  const navigate = useNavigate({ from: "/requests" })
  const [isLive, setLive] = useState(true)
  const box = useRef<HTMLDivElement>(null)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)

  const { open, ...given } = search
  const { account, combo, error, exact, from, key, model, outcome, provider, range, search: text, status, to } = given
  // A named range ends when the screen is opened or the range is chosen: rows that come stay in it.
  const since = useMemo(() => from ?? (to === undefined && isRange(range) ? beginOf(range, gatewayNow()) : undefined), [from, range, to])
  const filters = useMemo(
    () => ({ status, outcome, model, provider, account, combo, error, apiKey: key, search: text, from: since, to, exact: exact === "true" ? "true" as const : undefined }),
    [account, combo, error, exact, key, model, outcome, provider, since, status, text, to]
  )
  const filtered = Object.values(filters).some((value) => value !== undefined)
  const reading = useCallback(() => box.current !== null && (box.current.matches(":hover") || box.current.contains(document.activeElement) || box.current.scrollTop > 0), [])
  const [list, calls] = useCalls(filters)
  const { busy, loaded, rows, waiting } = calls
  const counted = useRead("GET /api/usage/call-logs/facets", { query: filters }, { everyMs: isLive ? POLL_MS * 2 : null })

  const { running, state } = useRunning(isLive, () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      list.refresh(reading)
    }, TOGETHER_MS)
  })
  useEffect(() => () => clearTimeout(timer.current), [])
  useEffect(() => {
    if (!isLive) return
    const every = setInterval(() => document.hidden ? undefined : list.refresh(reading), POLL_MS)
    return () => clearInterval(every)
  }, [isLive, list, reading])

  const set = (change: Partial<typeof search>, replace = true): void => void navigate({ search: filled({ ...search, ...change }), replace })
  const searchOf = useCallback((id: string) => ({ ...given, open: id }), [given])
  const chosen = (name: FilterName): string | undefined => exact === "true" || name === "status" || name === "outcome" || name === "error" ? search[name] : undefined
  const choose = (name: FilterName, value: string | undefined): void => {
    // Parts of names stay parts until a whole one is chosen; then all that was typed gives way to whole names.
    const typed = exact === "true" || name === "status" || name === "outcome" || name === "error" ? {} : Object.fromEntries(facets.flatMap(([, , other]) => ["model", "provider", "key", "account", "combo"].includes(other) ? [[other, undefined]] : []))
    set({ ...typed, [name]: value, ...(name === "status" || name === "outcome" || name === "error" ? {} : { exact: "true" }) })
  }
  const at = open === undefined ? -1 : rows.findIndex(({ id, requestId }) => id === open || requestId === open)
  const openAt = useCallback((index: number): void => {
    const row = rows[index]
    if (row === undefined) return
    if (box.current !== null) bringIntoView(box.current, index)
    void navigate({ search: searchOf(row.id), replace: true })
  }, [navigate, rows, searchOf])
  const close = useCallback((): void => {
    const id = open
    void navigate({ search: given, replace: true }).then(() => requestAnimationFrame(() =>
      [...document.querySelectorAll<HTMLElement>("tr[data-call]")].find((row) => row.dataset["call"] === id)?.querySelector("a")?.focus()))
  }, [given, navigate, open])

  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target) || !keysAct()) return
      if (event.key === "l") setLive((live) => !live)
      else if (event.key === "f") document.querySelector<HTMLElement>("[aria-label=Facets] summary")?.focus()
      else if (event.key === "j" || event.key === "]") openAt(at + 1)
      else if (event.key === "k" || event.key === "[") openAt(Math.max(0, at - 1))
      else if (event.key === "Escape" && open !== undefined) close()
      else if (event.key === "Enter" && at >= 0 && (event.target === document.body || event.target === box.current || event.target instanceof HTMLElement && event.target.id === "main")) void navigate({ to: "/requests/$id", params: { id: rows[at]?.requestId ?? "" } })
    }
    window.addEventListener("keydown", press)
    return () => window.removeEventListener("keydown", press)
  }, [at, close, navigate, open, openAt, rows])

  // The day is all that rows need of the time.
  const today = new Date(counted.dataUpdatedAt).setHours(0, 0, 0, 0)
  return (
    <Page
      title="Requests"
      lead="One row is one call to a provider. A request that fell back has several."
      actions={
        <>
          <span role="status"><Status tone={!isLive ? "off" : state === "live" ? "ok" : "warn"} word={!isLive ? "Paused" : state === "live" ? "Live" : "Polling"} /></span>
          <Button disabled={rows.length === 0} onClick={() => save("calls.csv", "text/csv", callsCsv(rows))}>CSV of the rows</Button>
          <Button onClick={() => setLive(!isLive)}>{isLive ? "Pause" : "Go on"}</Button>
        </>
      }
    >
      {isLive ? <InFlight running={running} /> : null}
      <Panel>
        <div className="panel-head">
          <div className="filters">
            <TextField className="field-wide" label="Find" type="search" value={text ?? ""} placeholder="Any id, model, key, error …" onChange={(value) => set({ search: value })} />
            <SelectField label="Status" value={status ?? ""} choices={statuses(status)} onChange={(value) => set({ status: value })} />
            <TextField label="Model" value={model ?? ""} onChange={(value) => set({ model: value, exact: "" })} />
            <TextField label="Provider" value={provider ?? ""} onChange={(value) => set({ provider: value, exact: "" })} />
            <TextField label="Key" value={key ?? ""} onChange={(value) => set({ key: value, exact: "" })} />
            <SelectField label="Time" value={rangeOf(search)} choices={spansOf(search)} onChange={(value) => set({ range: value, from: "", to: "" })} />
          </div>
          {filtered ? <Button kind="small" onClick={() => void navigate({ search: open === undefined ? {} : { open } })}>Clear filters</Button> : null}
        </div>
        {counted.data === undefined ? null : <div className="panel-body"><Histogram drawn={counted.data.histogram} onRange={(begin, end) => set({ range: "", from: begin, to: end }, false)} /></div>}
      </Panel>
      <div className={open === undefined ? "explorer" : "explorer explorer-open"}>
        {counted.data === undefined ? <div /> : <Facets counted={counted.data} chosen={chosen} onChoose={choose} />}
        <Panel>
          <Failure what="The requests could not be loaded" error={calls.error} retry={list.load} inPanel />
          {rows.length === 0 && !loaded ? calls.error === null ? <Skeleton rows={8} /> : null : rows.length === 0 ? (
            filtered ? <Empty icon="search" title="No request fits the filters" action={<Button onClick={() => void navigate({ search: {} })}>Clear filters</Button>}>{calls.next === null ? undefined : "The newest calls hold none. Choose a time to look further back."}</Empty> : (
              <Empty icon="requests" title="No request yet" action={<Link to="/play" className="button button-primary">Ask in the playground</Link>}>
                Or from a shell, without any provider:
                <CodeBlock label="curl command" text={`curl -N ${gatewayAddress}/v1/chat/completions -H 'Content-Type: application/json' \\\n  -d '{"model":"sim/echo","stream":true,"messages":[{"role":"user","content":"Hello"}]}'`} />
              </Empty>
            )
          ) : (
            <>
              <Rows rows={rows} box={box} open={at < 0 ? open : rows[at]?.id} now={today} isStale={!loaded} more={list.more} searchOf={searchOf}>
                {waiting.length === 0 ? null : (
                  <button
                    type="button" className="button button-primary button-small pill"
                    onClick={() => {
                      list.show()
                      if (box.current !== null) box.current.scrollTop = 0
                    }}
                  >
                    {waiting.length >= 100 ? "100 or more" : waiting.length} new
                  </button>
                )}
              </Rows>
              <p className="panel-body muted small" role="status">{count(rows.length)} calls{busy ? ", more come" : rows.length >= MOST_ROWS ? ": choose a time or a filter to see others" : calls.next === null ? ", all that fit" : ""}</p>
            </>
          )}
        </Panel>
        {open === undefined ? null : <Drawer id={open} onClose={close} onMove={(by) => openAt(at + by)} />}
      </div>
    </Page>
  )
}

export default Requests
