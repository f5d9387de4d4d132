/** Trends and shares over ledger rows and their groups. Pure. */
import type { LatencyStatistics, UsageSlice } from "#actors/ports/UsageStore.ts"
import type { LatencyEntry } from "./api.ts"
import type * as Units from "#schemas/records/Units.ts"

export interface Totals {
  readonly requests: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly units: Units.Units | null
  readonly cost: number
}

export const noTotals: Totals = { requests: 0, promptTokens: 0, completionTokens: 0, units: null, cost: 0 }

/** A stretch of time without an attempt. */
export const noSlice: UsageSlice = { ...noTotals, successes: 0, failures: 0, estimated: 0, unpriced: 0, avgMs: null, latencyMs: null, firstTokenMs: null, ownMs: null }

/** An entry of GET /api/usage/model-latency-stats; `provider`: its name. */
export const latencyEntry = (row: LatencyStatistics, provider: string, windowHours: number): LatencyEntry => ({
  provider,
  model: row.model ?? "unknown",
  key: `${provider}/${row.model ?? "unknown"}`,
  totalRequests: row.requests,
  successfulRequests: row.successes,
  successRate: row.successes / row.requests,
  avgLatencyMs: row.avgMs,
  p50LatencyMs: row.p50Ms,
  p95LatencyMs: row.p95Ms,
  p99LatencyMs: row.p99Ms,
  latencyStdDev: row.deviationMs,
  windowHours
})

/** Successes among the attempts that say something about the upstream; null when none does. */
export const successShare = ({ failures, successes }: { readonly failures: number; readonly successes: number }): number | null =>
  successes + failures === 0 ? null : successes / (successes + failures)

export type Day = Totals & { readonly date: string }

/** Totals per UTC day, oldest first, days without a call included from the first one on. `starts`: of the days that `slices` are of. */
export const daily = (starts: ReadonlyArray<number>, slices: ReadonlyMap<number, UsageSlice>): ReadonlyArray<Day> => {
  const first = starts.findIndex((_, index) => slices.has(index))
  return first === -1 ? [] : starts.slice(first).map((start, index) => {
    const { completionTokens, cost, promptTokens, requests, units } = slices.get(first + index) ?? noSlice
    return { date: new Date(start).toISOString().slice(0, 10), requests, promptTokens, completionTokens, units, cost }
  })
}

export const weekly = (days: ReadonlyArray<Day>): ReadonlyArray<{ readonly day: number; readonly requests: number }> => {
  const counts = [0, 0, 0, 0, 0, 0, 0]
  for (const { date, requests } of days) {
    const day = new Date(date).getUTCDay()
    counts[day] = (counts[day] as number) + requests
  }
  return counts.map((requests, day) => ({ day, requests }))
}
