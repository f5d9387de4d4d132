/** What was used and what it cost, by day and by who; each number opens its rows. */
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import { useRead } from "../../api/query.ts"
import type { Answer } from "../../api/contract.ts"
import { count, duration, money, percent, tokens, unknown } from "../../format/numbers.ts"
import { dayName } from "../../format/time.ts"
import { Bars } from "../../parts/Bars.tsx"
import { Empty, Loaded } from "../../parts/Feedback.tsx"
import { SelectField } from "../../parts/Field.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Table } from "../../parts/Table.tsx"

const EVERY_MS = 10_000

const ranges = { "1h": "The last hour", "24h": "24 hours", "7d": "7 days", "30d": "30 days", "90d": "90 days", all: "All" } as const
type Range = keyof typeof ranges
const groups = { model: "Model", provider: "Provider", key: "Key", account: "Connection" } as const
type GroupName = keyof typeof groups

type Analytics = Answer<"GET /api/usage/analytics">

interface Group {
  readonly id: string
  readonly word: string
  readonly totals: Pick<Analytics["summary"], "requests" | "promptTokens" | "completionTokens" | "cost">
  readonly filter: { readonly model?: string; readonly provider?: string; readonly key?: string; readonly search?: string }
}

const groupsOf = (analytics: Analytics, by: GroupName): ReadonlyArray<Group> => {
  switch (by) {
    case "model":
      return analytics.byModel.map((row) => ({ id: `${row.provider}/${row.model}`, word: `${row.provider}/${row.model}`, totals: row, filter: { model: row.model, provider: row.provider } }))
    case "provider":
      return analytics.byProvider.map((row) => ({ id: row.provider, word: row.provider, totals: row, filter: { provider: row.provider } }))
    case "key":
      return analytics.byApiKey.map((row) => ({ id: row.apiKeyId ?? "", word: row.apiKeyId === null ? "no key" : row.name, totals: row, filter: row.apiKeyId === null ? {} : { key: row.apiKeyId } }))
    case "account":
      return analytics.byAccount.map((row) => ({ id: row.connectionId, word: row.account, totals: row, filter: { search: row.account } }))
  }
}

const Complete = () => {
  const { data } = useRead("GET /api/usage/reconciliation", {}, { everyMs: EVERY_MS })
  if (data === undefined) return null
  return data.gap === 0 ? <Status tone="ok" word="Complete: gap 0" title={`started ${data.started}, settled ${data.settled}, running ${data.live}`} /> : <Status tone="bad" word={`Incomplete: gap ${count(data.gap)}`} />
}

const Usage = () => {
  const search = useSearch({ from: "/usage" })
  const navigate = useNavigate({ from: "/usage" })
  const range: Range = search.range !== undefined && search.range in ranges ? search.range as Range : "7d"
  const by: GroupName = search.by !== undefined && search.by in groups ? search.by as GroupName : "model"
  const read = useRead("GET /api/usage/analytics", { query: { range } }, { everyMs: EVERY_MS })
  return (
    <Page
      title="Usage & cost"
      lead={<>Sums of the ledger; days end at midnight UTC. <Complete /></>}
      actions={<SelectField label="Range" value={range} choices={Object.entries(ranges).map(([value, word]) => ({ value, word }))} onChange={(value) => void navigate({ search: { ...search, range: value }, replace: true })} />}
    >
      <Loaded read={read} what="The usage" rows={6}>
        {(analytics) => {
          const { summary } = analytics
          if (summary.requests === 0) return <div className="panel"><Empty icon="usage" title="Nothing was used in this time" action={<Link to="/play" className="button">Ask in the playground</Link>}>Choose a longer range, or send a request.</Empty></div>
          const rows = [...groupsOf(analytics, by)].sort((a, b) => b.totals.cost - a.totals.cost || b.totals.requests - a.totals.requests)
          const days = analytics.dailyTrend
          return (
            <div className="stack">
              <dl className="tiles">
                <div className="tile"><dt>Cost</dt><dd>{money(summary.cost)}</dd><dd className="unit">{ranges[range].toLowerCase()}</dd></div>
                <div className="tile"><dt>Attempts</dt><dd>{count(summary.requests)}</dd><dd className="unit">calls to providers</dd></div>
                <div className="tile"><dt>Success</dt><dd>{percent(summary.successRate)}</dd><dd className="unit">of attempts</dd></div>
                <div className="tile"><dt>Tokens in</dt><dd title={count(summary.promptTokens)}>{tokens(summary.promptTokens)}</dd></div>
                <div className="tile"><dt>Tokens out</dt><dd title={count(summary.completionTokens)}>{tokens(summary.completionTokens)}</dd></div>
                <div className="tile"><dt>Mean duration</dt><dd>{duration(summary.avgLatencyMs)}</dd></div>
              </dl>
              {days.length < 2 ? null : (
                <div className="columns">
                  <Panel title="Cost per day"><div className="panel-body"><Bars label="Cost per day" bars={days.map(({ cost, date }) => ({ word: dayName(date), value: cost }))} shown={money} first={dayName(days[0]?.date ?? "")} last={dayName(days.at(-1)?.date ?? "")} /></div></Panel>
                  <Panel title="Attempts per day"><div className="panel-body"><Bars label="Attempts per day" bars={days.map(({ date, requests }) => ({ word: dayName(date), value: requests }))} shown={count} first={dayName(days[0]?.date ?? "")} last={dayName(days.at(-1)?.date ?? "")} /></div></Panel>
                </div>
              )}
              <Panel title="Who and what" actions={<SelectField label="Group by" value={by} choices={Object.entries(groups).map(([value, word]) => ({ value, word }))} onChange={(value) => void navigate({ search: { ...search, by: value }, replace: true })} />}>
                <Table label="Usage by group">
                    <thead><tr><th scope="col">{groups[by]}</th><th scope="col" className="end">Attempts</th><th scope="col" className="end">Tokens in</th><th scope="col" className="end">Tokens out</th><th scope="col" className="end">Cost</th><th scope="col" className="end">Share</th></tr></thead>
                    <tbody>
                      {rows.map(({ filter, id, totals, word }) => (
                        <tr key={id}>
                          <td className="cut" title={word}><Link to="/requests" search={filter} className="row-link">{word}</Link></td>
                          <td className="end">{count(totals.requests)}</td>
                          <td className="end" title={count(totals.promptTokens)}>{tokens(totals.promptTokens)}</td>
                          <td className="end" title={count(totals.completionTokens)}>{tokens(totals.completionTokens)}</td>
                          <td className="end">{money(totals.cost)}</td>
                          <td className="end">{summary.cost === 0 ? unknown : percent(totals.cost / summary.cost)}</td>
                        </tr>
                      ))}
                    </tbody>
                  </Table>
              </Panel>
            </div>
          )
        }}
      </Loaded>
    </Page>
  )
}

export default Usage
