/** Trends and shares over ledger rows and their groups. Pure. */
import type { LatencyStatistics, UsageSlice } from "#actors/ports/UsageStore.ts"
import type { LatencyEntry } from "./api.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import * as Units from "#schemas/records/Units.ts"

const DAY_MS = 86_400_000

export interface Totals {
  readonly requests: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly units: Units.Units | null
  readonly cost: number
}

export const noTotals: Totals = { requests: 0, promptTokens: 0, completionTokens: 0, units: null, cost: 0 }

/** A stretch of time without an attempt. */
export const noSlice: UsageSlice = { ...noTotals, successes: 0, failures: 0, estimated: 0, unpriced: 0, latencyMs: null, firstTokenMs: null, ownMs: null }

const plus = (totals: Totals, row: LedgerRow): Totals => ({
  requests: totals.requests + 1,
  promptTokens: totals.promptTokens + row.tokensIn,
  completionTokens: totals.completionTokens + row.tokensOut,
  units: Units.plus(totals.units, row.units),
  cost: totals.cost + row.costUsd
})

const isSuccess = (row: LedgerRow): boolean => row.outcome === "completed"

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
