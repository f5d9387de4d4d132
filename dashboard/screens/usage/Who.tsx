/** Who and what used it: each number opens its rows, and stands beside what it was in the period before. */
import { Link } from "@tanstack/react-router"
import { csvOf } from "../../format/csv.ts"
import { count, money, percent, tokens, unknown } from "../../format/numbers.ts"
import { Check, SelectField } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { save } from "../../parts/Copy.tsx"
import { Table } from "../../parts/Table.tsx"
import { Button } from "../../parts/Button.tsx"
import { type Analytics, change, compared, type GroupName, groups } from "./groups.ts"

const words = Object.entries(groups).map(([value, word]) => ({ value, word }))

export const Who = ({ analytics, before, by, isCompared, isStale, onBy, onCompare, span }: {
  readonly analytics: Analytics
  /** Of the period before; undefined while it is not asked for. */
  readonly before: Analytics | undefined
  readonly by: GroupName
  readonly span: { readonly range?: string; readonly from?: string; readonly to?: string }
  readonly isStale: boolean
  readonly onBy: (by: string) => void
  readonly isCompared: boolean
  readonly onCompare: (compare: boolean) => void
}) => {
  const rows = compared(analytics, before, by)
  const whole = analytics.summary.cost
  const csv = () => csvOf(
    [groups[by], "id", "attempts", "tokens_in", "tokens_out", "cost_usd", ...(before === undefined ? [] : ["cost_usd_before"])],
    rows.map(({ before: past, id, totals, word }) => [word, id, totals.requests, totals.promptTokens, totals.completionTokens, totals.cost, ...(past === null ? [] : [past.cost])])
  )
  return (
    <Panel
      title="Who and what"
      actions={
        <div className="row">
          <Check checked={isCompared} onChange={onCompare}>Beside the period before</Check>
          <SelectField label="Group by" value={by} choices={words} onChange={onBy} />
          <Button kind="small" onClick={() => save(`usage-by-${by}.csv`, "text/csv", csv())}>CSV of this table</Button>
        </div>
      }
    >
      <Table label="Usage by group" isStale={isStale}>
        <thead>
          <tr>
            <th scope="col">{groups[by]}</th><th scope="col" className="end">Attempts</th><th scope="col" className="end">Tokens in</th><th scope="col" className="end">Tokens out</th>
            <th scope="col" className="end">Cost</th><th scope="col" className="end">Share</th>{before !== undefined ? <><th scope="col" className="end">Cost before</th><th scope="col" className="end">Change</th></> : null}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ before: past, filter, id, totals, word }) => (
            <tr key={id}>
              <td className="cut" title={word}>{filter === null ? word : <Link to="/requests" search={{ ...filter, ...span, exact: "true" }} className="row-link">{word}</Link>}</td>
              <td className="end">{count(totals.requests)}</td>
              <td className="end" title={count(totals.promptTokens)}>{tokens(totals.promptTokens)}</td>
              <td className="end" title={count(totals.completionTokens)}>{tokens(totals.completionTokens)}</td>
              <td className="end" title={`$${totals.cost}`}>{money(totals.cost)}</td>
              <td className="end">{whole === 0 ? unknown : percent(totals.cost / whole)}</td>
              {past === null ? null : <><td className="end" title={`$${past.cost}`}>{money(past.cost)}</td><td className="end">{change(totals.cost, past.cost) ?? unknown}</td></>}
            </tr>
          ))}
        </tbody>
      </Table>
    </Panel>
  )
}
