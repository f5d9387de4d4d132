/** What compression saved over a time: by mode, by engine and by combo. */
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useRead } from "../../api/query.ts"
import type { Answer } from "../../api/contract.ts"
import { count, percent, tokens } from "../../format/numbers.ts"
import { Empty, Loaded } from "../../parts/Feedback.tsx"
import { SelectField } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Head, Table } from "../../parts/Table.tsx"

const EVERY_MS = 10_000

const spans = [{ value: "24h", word: "Last 24 h" }, { value: "7d", word: "Last 7 days" }, { value: "30d", word: "Last 30 days" }, { value: "all", word: "All that is kept" }]

type Breakdown = Answer<"GET /api/context/analytics">["modeBreakdown"]

const By = ({ head, nameOf, of }: { readonly head: string; readonly of: Breakdown; readonly nameOf: (id: string) => string }) => {
  const rows = Object.entries(of).sort(([, a], [, b]) => b.tokensSaved - a.tokensSaved)
  return (
    <Table label={`Saved by ${head.toLowerCase()}`}>
      <Head of={[head, ">Requests", ">Tokens before", ">Saved", ">Share"]} />
      <tbody>
        {rows.map(([id, row]) => (
          <tr key={id}>
            <td className="cut" title={nameOf(id)}>{nameOf(id)}</td><td className="end">{count(row.requests)}</td><td className="end" title={count(row.originalTokens)}>{tokens(row.originalTokens)}</td>
            <td className="end" title={count(row.tokensSaved)}>{tokens(row.tokensSaved)}</td><td className="end">{row.originalTokens === 0 ? "–" : percent(row.tokensSaved / row.originalTokens)}</td>
          </tr>
        ))}
      </tbody>
    </Table>
  )
}

/** Over the time that the address names. */
export const useSavings = () => {
  const asked = useSearch({ from: "/compression" }).since
  const since = spans.find(({ value }) => value === asked)?.value ?? "24h"
  return { since, read: useRead("GET /api/context/analytics", { query: { since } }, { everyMs: EVERY_MS }) }
}

export const Savings = () => {
  const navigate = useNavigate({ from: "/compression" })
  const { read, since } = useSavings()
  const combos = useRead("GET /api/combos").data?.combos ?? []
  const same = (id: string): string => id
  return (
    <Panel title="What it saves" actions={<SelectField label="Over" value={since} choices={spans} onChange={(value) => void navigate({ search: value === "24h" ? {} : { since: value }, replace: true })} />}>
      <Loaded read={read} what="The savings">
        {({ comboBreakdown, engineBreakdown, modeBreakdown, requests, totalCompressedTokens, totalOriginalTokens, totalSavings, validationFallbacks }) => requests === 0 ? <Empty icon="compression" title="No request was made shorter">In this time. The preview below shows what a mode would do.</Empty> : (
          <div className={read.isPlaceholderData ? "panel-body stale" : "panel-body"}>
            <dl className="tiles">
              <div className="tile"><dt>Tokens saved</dt><dd title={count(totalSavings)}>≈ {tokens(totalSavings)}</dd><dd className="unit">{totalOriginalTokens === 0 ? "" : `${percent(totalSavings / totalOriginalTokens)} of ${tokens(totalOriginalTokens)}`}</dd></div>
              <div className="tile"><dt>Sent</dt><dd title={count(totalCompressedTokens)}>≈ {tokens(totalCompressedTokens)}</dd><dd className="unit">tokens, four bytes each</dd></div>
              <div className="tile"><dt>Requests</dt><dd>{count(requests)}</dd><dd className="unit">in whole hours</dd></div>
              <div className="tile"><dt>Texts sent as they came</dt><dd>{count(validationFallbacks)}</dd><dd className="unit">requests in which the check of a text failed</dd></div>
            </dl>
            <div className="columns">
              <By head="Mode" of={modeBreakdown} nameOf={same} />
              <By head="Engine" of={engineBreakdown} nameOf={same} />
            </div>
            <By head="Combo" of={comboBreakdown} nameOf={(id) => id === "none" ? "without a combo" : combos.find((combo) => combo.id === id)?.name ?? id} />
          </div>
        )}
      </Loaded>
    </Panel>
  )
}
