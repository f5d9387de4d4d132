/** What was used and what it cost, over time and by whom; each number opens its rows, and the sum says whether it is complete. */
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import { useRead } from "../../api/query.ts"
import { useZone } from "../../app/zone.ts"
import { count, duration, percent, tokens, total as sum } from "../../format/numbers.ts"
import { beginOf, isRange, ranges, spanWord, timesOf, unitOf } from "../../format/ranges.ts"
import { filled } from "../../format/members.ts"
import { save } from "../../parts/Copy.tsx"
import { Empty, Failure, Loaded } from "../../parts/Feedback.tsx"
import { SelectField, TextField } from "../../parts/Field.tsx"
import { useNow } from "../../parts/now.ts"
import { Page } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { change, type GroupName, groups } from "./groups.ts"
import { errorShare, type Metric, metrics, Over, type Trend, units } from "./Over.tsx"
import { Who } from "./Who.tsx"

const EVERY_MS = 10_000
const MINUTE_MS = 60_000
const CHOSEN = "chosen"

const named = Object.entries(ranges).map(([value, { word }]) => ({ value, word }))

/** Whether the sums are all there is: of the ledger, of tokens that were estimated, and of models without a price. */
const Complete = ({ total }: { readonly total: Trend["total"] | undefined }) => {
  const { data } = useRead("GET /api/usage/reconciliation", {}, { everyMs: EVERY_MS })
  return (
    <span className="row">
      {data === undefined ? null : data.gap === 0 ? <Status tone="ok" word="Complete: gap 0" title={`started ${data.started} = settled ${data.settled} + running ${data.live}`} /> : <Status tone="bad" word={`Incomplete: gap ${count(data.gap)}`} />}
      {data === undefined || data.journaled === 0 ? null : <Status tone="info" word={`${count(data.journaled)} on the way to the database`} />}
      {total === undefined || total.requests === 0 ? null : <span className="small">{percent(total.estimated / total.requests)} estimated</span>}
      {total === undefined || total.unpriced === 0 ? null : <Link to="/models" className="small">{count(total.unpriced)} without a price count as free</Link>}
    </span>
  )
}

const Tile = ({ before, name, now, shown, unit }: { readonly name: string; readonly now: number | null; readonly before: number | null; readonly shown: (value: number | null) => string; readonly unit?: string }) => {
  const changed = now === null || before === null ? null : change(now, before)
  return <div className="tile"><dt>{name}</dt><dd title={now === null ? undefined : String(now)}>{shown(now)}</dd><dd className="unit" title={`the period before: ${shown(before)}`}>{changed === null ? unit ?? "" : changed === "new" ? "nothing before" : `${changed} against before`}</dd></div>
}

const Tiles = ({ trend: { previous: { total: before }, total } }: { readonly trend: Trend }) => (
  <dl className="tiles" aria-label="Sums">
    <Tile name="Cost" now={total.cost} before={before.cost} shown={sum} />
    <Tile name="Attempts" now={total.requests} before={before.requests} shown={count} />
    <Tile name="Errors" now={errorShare(total)} before={errorShare(before)} shown={percent} unit="of attempts" />
    <Tile name="Tokens in" now={total.promptTokens} before={before.promptTokens} shown={tokens} />
    <Tile name="Tokens out" now={total.completionTokens} before={before.completionTokens} shown={tokens} />
    <Tile name="First token, p50" now={total.firstTokenMs?.p50 ?? null} before={before.firstTokenMs?.p50 ?? null} shown={duration} />
    <Tile name="Own time, p50" now={total.ownMs?.p50 ?? null} before={before.ownMs?.p50 ?? null} shown={duration} />
  </dl>
)

/** What a field of local time holds. Its browser reads it in the viewer's zone. */
const localOf = (iso: string | undefined): string => {
  if (iso === undefined) return ""
  const at = new Date(iso)
  return new Date(at.getTime() - at.getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16)
}
const isoOf = (local: string): string => local === "" || Number.isNaN(Date.parse(local)) ? "" : new Date(local).toISOString()

const Usage = () => {
  const search = useSearch({ from: "/usage" })
  const navigate = useNavigate({ from: "/usage" })
  const zone = useZone()
  const minute = Math.floor(useNow() / MINUTE_MS) * MINUTE_MS
  const times = timesOf(search)
  const isChosen = times.from !== undefined || times.to !== undefined || search.range === CHOSEN
  const range = isRange(search.range) ? search.range : "7d"
  const from = times.from ?? (times.to === undefined ? beginOf(range, minute) : new Date(Date.parse(times.to) - ranges[range].ms).toISOString())
  const length = (times.to === undefined ? minute : Date.parse(times.to)) - Date.parse(from)
  const unit = units.find((each) => each === search.bucket) ?? (isChosen ? unitOf(length) : ranges[range].unit)
  const by: GroupName = search.by !== undefined && Object.hasOwn(groups, search.by) ? search.by as GroupName : "model"
  const metric: Metric = search.metric !== undefined && Object.hasOwn(metrics, search.metric) ? search.metric as Metric : "cost"
  const isCompared = search.compare === "true"
  const span = isChosen ? times : { range }
  const given = { from, ...(times.to === undefined ? {} : { to: times.to }) }
  const trend = useRead("GET /api/usage/trend", { query: { ...given, bucket: unit, zone } }, { everyMs: EVERY_MS })
  const read = useRead("GET /api/usage/analytics", { query: given }, { everyMs: EVERY_MS })
  const previous = trend.data?.previous
  const past = useRead("GET /api/usage/analytics", { query: { from: previous?.from, to: previous?.to } }, { enabled: isCompared && previous !== undefined, everyMs: MINUTE_MS })
  const set = (changed: Partial<typeof search>): void => void navigate({ search: filled({ ...search, ...changed }), replace: true })
  const choose = (value: string): void => set(value === CHOSEN ? { range: CHOSEN, bucket: "" } : { range: value, from: "", to: "", bucket: "" })
  return (
    <Page
      title="Usage & cost"
      lead={<>Sums of the ledger, {isChosen ? spanWord(times) : ranges[range].word.toLowerCase()}; days begin in {zone}. <Complete total={trend.data?.total} /></>}
      actions={
        <>
          <SelectField label="Range" value={isChosen ? CHOSEN : range} choices={[...named, { value: CHOSEN, word: "From … to …" }]} onChange={choose} />
          {isChosen ? (
            <>
              <TextField label="From, local time" type="datetime-local" value={localOf(times.from)} onChange={(value) => set({ range: CHOSEN, from: isoOf(value), bucket: "" })} />
              <TextField label="To, local time" type="datetime-local" value={localOf(times.to)} onChange={(value) => set({ range: CHOSEN, to: isoOf(value), bucket: "" })} />
            </>
          ) : null}
          <button
            type="button" className="button" disabled={trend.data === undefined || read.data === undefined}
            onClick={() => save("usage.json", "application/json", `${JSON.stringify({ trend: trend.data, groups: read.data }, null, 2)}\n`)}
          >JSON of all</button>
        </>
      }
    >
      <Loaded read={trend} what="The usage" rows={6}>
        {(known) => known.total.requests === 0 && known.previous.total.requests === 0 ? (
          <div className="panel">
            <Empty icon="usage" title="Nothing was used in this time" action={<Link to="/play" className="button">Ask in the playground</Link>}>
              {range === "2y" && !isChosen ? "No request was answered yet." : <>Choose a longer range, such as <Link to="/usage" search={{ range: "90d" }}>the last 90 days</Link>, or send a request.</>}
            </Empty>
          </div>
        ) : (
          <div className="stack">
            <Tiles trend={known} />
            <Over trend={known} metric={metric} onMetric={(value) => set({ metric: value })} onUnit={(value) => set({ bucket: value })} />
            {past.error === null || !isCompared ? null : <Failure what="The period before could not be loaded" error={past.error} retry={() => void past.refetch()} />}
            <Loaded read={read} what="Who used it">
              {(analytics) => <Who analytics={analytics} before={isCompared ? past.data : undefined} isCompared={isCompared} by={by} span={span} isStale={read.isPlaceholderData} onBy={(value) => set({ by: value })} onCompare={(on) => set({ compare: on ? "true" : "" })} />}
            </Loaded>
          </div>
        )}
      </Loaded>
    </Page>
  )
}

export default Usage
