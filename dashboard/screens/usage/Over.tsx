/** Use over time, in buckets that the gateway counts in a named zone; the same numbers as a table whose rows open their requests. */
import { Link } from "@tanstack/react-router"
import type { Answer } from "../../api/contract.ts"
import { csvOf } from "../../format/csv.ts"
import { count, duration, money, percent, tokens, unknown } from "../../format/numbers.ts"
import { exact, startName } from "../../format/time.ts"
import { Bars } from "../../parts/Bars.tsx"
import { SelectField } from "../../parts/Field.tsx"
import { Panel } from "../../parts/Page.tsx"
import { save } from "../../parts/Copy.tsx"
import { Head, Table } from "../../parts/Table.tsx"
import { Button } from "../../parts/Button.tsx"

export type Trend = Answer<"GET /api/usage/trend">
type Slice = Trend["total"]

/** Failures of the upstream among what speaks about it. */
export const errorShare = ({ failures, successes }: Slice): number | null => failures + successes === 0 ? null : failures / (failures + successes)

export const metrics = {
  cost: { word: "Cost", of: (slice: Slice) => slice.cost, shown: money },
  attempts: { word: "Attempts", of: (slice: Slice) => slice.requests, shown: count },
  tokens: { word: "Tokens", of: (slice: Slice) => slice.promptTokens + slice.completionTokens, shown: tokens },
  errors: { word: "Errors, % of attempts", of: (slice: Slice) => errorShare(slice) ?? 0, shown: percent },
  first: { word: "First token, p50", of: (slice: Slice) => slice.firstTokenMs?.p50 ?? 0, shown: duration },
  slow: { word: "Whole answer, p95", of: (slice: Slice) => slice.latencyMs?.p95 ?? 0, shown: duration }
} as const satisfies Readonly<Record<string, { readonly word: string; readonly of: (slice: Slice) => number; readonly shown: (value: number) => string }>>
export type Metric = keyof typeof metrics

export const units = ["minute", "hour", "day", "week", "month"] as const

const words = Object.entries(metrics).map(([value, { word }]) => ({ value, word }))
const perUnit = units.map((value) => ({ value, word: `Per ${value}` }))

const csv = ({ buckets, zone }: Trend) => csvOf(
  [`start (${zone})`, "end", "attempts", "successes", "failures", "tokens_in", "tokens_out", "cost_usd", "estimated", "unpriced", "first_token_p50_ms", "first_token_p99_ms", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms"],
  buckets.map((slice) => [
    slice.start, slice.end, slice.requests, slice.successes, slice.failures, slice.promptTokens, slice.completionTokens, slice.cost, slice.estimated, slice.unpriced,
    slice.firstTokenMs?.p50 ?? null, slice.firstTokenMs?.p99 ?? null, slice.latencyMs?.p50 ?? null, slice.latencyMs?.p95 ?? null, slice.latencyMs?.p99 ?? null
  ])
)

export const Over = ({ metric, onMetric, onUnit, trend }: { readonly trend: Trend; readonly metric: Metric; readonly onMetric: (metric: string) => void; readonly onUnit: (unit: string) => void }) => {
  const { bucket, buckets, from, to, zone } = trend
  const { of, shown, word } = metrics[metric]
  // What a bucket lacks at the ends of the range is not there to be compared.
  const isPart = ({ end, start }: { readonly start: string; readonly end: string }): boolean => Date.parse(end) > Date.parse(to) || Date.parse(start) < Date.parse(from)
  const label = `${word} per ${bucket}`
  return (
    <Panel
      title={label}
      actions={
        <div className="row">
          <SelectField label="Metric" value={metric} choices={words} onChange={onMetric} />
          <SelectField label="Bucket" value={bucket} choices={perUnit} onChange={onUnit} />
          <Button kind="small" onClick={() => save(`usage-per-${bucket}.csv`, "text/csv", csv(trend))}>CSV of the buckets</Button>
        </div>
      }
    >
      <div className="panel-body">
        <Bars
          label={label} bars={buckets.map((slice) => ({ word: startName(slice.start, bucket), value: of(slice), isPart: isPart(slice) }))} shown={shown}
          first={startName(buckets[0]?.start ?? "", bucket)} last={startName(buckets.at(-1)?.start ?? "", bucket)}
        />
        <p className="small muted">Buckets begin in {zone}. Hatched ones are not whole: the range begins or ends in them.</p>
      </div>
      <details>
        <summary className="panel-body">As a table</summary>
        <Table label={`${label}, all figures`}>
          <Head of={["From", ">Attempts", ">Tokens", ">Cost", ">Errors", ">First token p50", ">Whole p50 / p95 / p99"]} />
          <tbody>
            {buckets.map((slice) => (
              <tr key={slice.start}>
                <td><Link to="/requests" search={{ from: slice.start, to: slice.end }} className="row-link" title={exact(slice.start)}>{startName(slice.start, bucket)}</Link>{isPart(slice) ? <span className="muted small"> in part</span> : null}</td>
                <td className="end">{count(slice.requests)}</td>
                <td className="end">{tokens(slice.promptTokens + slice.completionTokens)}</td>
                <td className="end" title={`$${slice.cost}`}>{money(slice.cost)}</td>
                <td className="end">{percent(errorShare(slice))}</td>
                <td className="end">{duration(slice.firstTokenMs?.p50)}</td>
                <td className="end">{slice.latencyMs === null ? unknown : `${duration(slice.latencyMs.p50)} / ${duration(slice.latencyMs.p95)} / ${duration(slice.latencyMs.p99)}`}</td>
              </tr>
            ))}
          </tbody>
        </Table>
      </details>
    </Panel>
  )
}
