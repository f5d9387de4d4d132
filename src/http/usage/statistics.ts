/** Percentiles, trends and breakdowns over ledger rows. Pure. */
import type { LatencyEntry } from "#schemas/api/Usage.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"

const DAY_MS = 86_400_000

export interface Totals {
  readonly requests: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cost: number
}

export const noTotals: Totals = { requests: 0, promptTokens: 0, completionTokens: 0, cost: 0 }

const plus = (totals: Totals, row: LedgerRow): Totals => ({
  requests: totals.requests + 1,
  promptTokens: totals.promptTokens + row.tokensIn,
  completionTokens: totals.completionTokens + row.tokensOut,
  cost: totals.cost + row.costUsd
})

/** Nearest-rank percentile of ascending values; 0 of none. */
export const percentile = (sorted: ReadonlyArray<number>, p: number): number =>
  sorted.length === 0 ? 0 : sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil((p / 100) * sorted.length) - 1))] as number

const isSuccess = (row: LedgerRow): boolean => row.outcome === "completed"

/** Latency of successes when there are at least `minSamples`, else of all (supplement 8.1). */
export const latencies = (rows: ReadonlyArray<LedgerRow>, windowHours: number, minSamples: number): ReadonlyArray<LatencyEntry> => {
  const groups = new Map<string, Array<LedgerRow>>()
  for (const row of rows) {
    const key = `${row.provider}/${row.model}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [row])
    else group.push(row)
  }
  return Array.from(groups, ([key, group]): LatencyEntry => {
    const successes = group.filter(isSuccess)
    const samples = (successes.length >= minSamples ? successes : group).map((row) => row.latencyMs).sort((a, b) => a - b)
    const average = samples.reduce((sum, value) => sum + value, 0) / samples.length
    const variance = samples.reduce((sum, value) => sum + (value - average) ** 2, 0) / samples.length
    const first = group[0] as LedgerRow
    return {
      provider: first.provider,
      model: first.model,
      key,
      totalRequests: group.length,
      successfulRequests: successes.length,
      successRate: successes.length / group.length,
      avgLatencyMs: average,
      p50LatencyMs: percentile(samples, 50),
      p95LatencyMs: percentile(samples, 95),
      p99LatencyMs: percentile(samples, 99),
      latencyStdDev: Math.sqrt(variance),
      windowHours
    }
  }).filter((entry) => entry.totalRequests >= minSamples).sort((a, b) => b.totalRequests - a.totalRequests)
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Totals per UTC day, oldest first, days without a call included from the first one on. */
export const daily = (rows: ReadonlyArray<LedgerRow>, now: number): ReadonlyArray<Totals & { readonly date: string }> => {
  const days = new Map<string, Totals>()
  let oldest = now
  for (const row of rows) {
    const day = dayOf(row.startedAt)
    days.set(day, plus(days.get(day) ?? noTotals, row))
    if (row.startedAt < oldest) oldest = row.startedAt
  }
  const trend: Array<Totals & { readonly date: string }> = []
  for (let at = Date.parse(dayOf(oldest)); at <= now && rows.length > 0; at += DAY_MS) {
    const date = dayOf(at)
    trend.push({ date, ...(days.get(date) ?? noTotals) })
  }
  return trend
}

export const weekly = (rows: ReadonlyArray<LedgerRow>): ReadonlyArray<{ readonly day: number; readonly requests: number }> => {
  const counts = [0, 0, 0, 0, 0, 0, 0]
  for (const row of rows) {
    const day = new Date(row.startedAt).getUTCDay()
    counts[day] = (counts[day] as number) + 1
  }
  return counts.map((requests, day) => ({ day, requests }))
}

export const successRate = (rows: ReadonlyArray<LedgerRow>): number => rows.length === 0 ? 1 : rows.filter(isSuccess).length / rows.length

export const averageLatency = (rows: ReadonlyArray<LedgerRow>): number =>
  rows.length === 0 ? 0 : rows.reduce((sum, row) => sum + row.latencyMs, 0) / rows.length
