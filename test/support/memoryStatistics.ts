/** The statistics of the usage store over rows in memory. */
import * as Effect from "effect/Effect"
import type { ComboCalls, ComboTargetStatistics, LatencyStatistics, PromptCacheUse, UsageSlice, UsageStore, UsageWindow } from "#actors/ports/UsageStore.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import type * as Units from "#schemas/records/Units.ts"
import { plusUnits } from "./plusUnits.ts"

const failures: ReadonlySet<string> = new Set(["gateway-timeout", "upstream-reset", "upstream-status"])

const average = (values: ReadonlyArray<number>): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** As percentile_cont: between the two values around the place. */
const percentile = (values: ReadonlyArray<number>, share: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const place = share * (sorted.length - 1)
  const low = sorted[Math.floor(place)] ?? 0
  return low + (place - Math.floor(place)) * ((sorted[Math.ceil(place)] ?? low) - low)
}

const grouped = (rows: ReadonlyArray<LedgerRow>, keyOf: (row: LedgerRow) => ReadonlyArray<string | null>) =>
  Array.from(Map.groupBy(rows, (row) => JSON.stringify(keyOf(row)))).sort(([a], [b]) => a < b ? -1 : 1)
    .map(([, group]) => group as [LedgerRow, ...Array<LedgerRow>])

const latency = (row: LedgerRow): number => row.latencyMs
const succeeded = (row: LedgerRow): boolean => row.outcome === "completed"
const countsOf = (rows: ReadonlyArray<LedgerRow>) => ({
  requests: rows.length,
  successes: rows.filter(succeeded).length,
  failures: rows.filter((row) => failures.has(row.outcome)).length,
  lastUsed: Math.max(...rows.map((row) => row.startedAt))
})

const promptCacheOf = (rows: ReadonlyArray<LedgerRow>) => {
  const sum = (of: (row: LedgerRow) => number) => rows.reduce((total, row) => total + of(row), 0)
  return {
    requests: rows.length,
    cachedRequests: rows.filter((row) => row.tokensCacheRead > 0 || row.tokensCacheCreation > 0).length,
    inputTokens: sum((row) => row.tokensIn),
    cachedTokens: sum((row) => row.tokensCacheRead),
    cacheCreationTokens: sum((row) => row.tokensCacheCreation)
  }
}

const percentilesOf = (values: ReadonlyArray<number>) => values.length === 0 ? null : { p50: percentile(values, 0.5), p95: percentile(values, 0.95), p99: percentile(values, 0.99) }

const sliceOf = (rows: ReadonlyArray<LedgerRow>): UsageSlice => {
  const sum = (of: (row: LedgerRow) => number) => rows.reduce((total, row) => total + of(row), 0)
  return {
    requests: rows.length, promptTokens: sum((row) => row.tokensIn), completionTokens: sum((row) => row.tokensOut), units: rows.reduce<Units.Units | null>((all, { units }) => plusUnits(all, units), null),
    cost: Math.round(sum((row) => row.costUsd) * 1e10) / 1e10, successes: rows.filter(succeeded).length, failures: rows.filter((row) => failures.has(row.outcome)).length,
    estimated: rows.filter(({ estimated }) => estimated).length, unpriced: rows.filter(({ unpriced }) => unpriced).length,
    avgMs: rows.length === 0 ? null : average(rows.map(latency)),
    latencyMs: percentilesOf(rows.filter(succeeded).map(latency)), firstTokenMs: percentilesOf(rows.flatMap(({ ttftMs }) => ttftMs ?? [])),
    ownMs: percentilesOf(rows.flatMap(({ latencyMs, phases }) => phases === null ? [] : phases.queue + phases.limits + Math.max(0, latencyMs - phases.end)))
  }
}

const hourMs = 3_600_000

/** `newestFirst`: every row, in that order. */
export const statistics = (newestFirst: () => ReadonlyArray<LedgerRow>): Pick<UsageStore["Service"], "trend" | "latencies" | "comboTargets" | "comboCalls" | "promptCache" | "promptCacheWrites" | "promptCacheHours"> => {
  const within = ({ since, until = Infinity }: UsageWindow) => newestFirst().filter((row) => row.startedAt >= since && row.startedAt <= until)
  return {
    trend: ({ apiKeyId, connectionId, model, provider, since, until }, starts) => Effect.sync(() => {
      const rows = newestFirst().filter((row) => row.startedAt >= since && row.startedAt < until && (provider === undefined || row.provider === provider) && (model === undefined || row.model === model)
        && (connectionId === undefined || row.connectionId === connectionId) && (apiKeyId === undefined || row.apiKeyId === apiKeyId))
      const slices = Map.groupBy(rows, ({ startedAt }) => starts.findLastIndex((start) => start <= startedAt))
      return { total: sliceOf(rows), slices: new Map(Array.from(slices, ([place, group]) => [place, sliceOf(group)])) }
    }),
    latencies: (dimension, { maxRows, minSamples = 1, model, provider, ...window }) => Effect.sync(() => {
      const looked = within(window)
        .filter((row) => (provider === undefined || row.provider === provider) && (model === undefined || row.model === model)).slice(0, maxRows)
      return grouped(looked, (row) => dimension === "provider" ? [row.provider] : [row.provider, row.model])
        .filter((group) => group.length >= minSamples)
        .map((group): LatencyStatistics => {
          const good = group.filter(succeeded)
          const values = (good.length < minSamples ? group : good).map(latency)
          const avgMs = average(values)
          return {
            provider: group[0].provider, model: dimension === "provider" ? null : group[0].model, ...countsOf(group), samples: values.length, avgMs,
            p50Ms: percentile(values, 0.5), p95Ms: percentile(values, 0.95), p99Ms: percentile(values, 0.99),
            deviationMs: Math.sqrt(average(values.map((value) => (value - avgMs) ** 2)))
          }
        }).sort((a, b) => b.requests - a.requests)
    }),
    comboTargets: ({ combo, ...window }) => Effect.sync(() =>
      grouped(
        within(window).filter((row) => combo === undefined ? row.combo !== null : row.combo === combo),
        (row) => [row.provider, row.model, row.connectionId, row.combo]
      ).map((group): ComboTargetStatistics => {
          const good = group.filter(succeeded).map(latency)
          const { connectionId, model, provider, status } = group[0]
          return { combo: group[0].combo ?? "", provider, model, connectionId, ...countsOf(group), avgMs: good.length === 0 ? null : average(good), lastStatus: status }
        }).sort((a, b) => a.combo === b.combo ? b.requests - a.requests : a.combo < b.combo ? -1 : 1)),
    promptCache: (window) => Effect.sync(() =>
      grouped(within(window), (row) => [row.provider, row.model])
        .map((group): PromptCacheUse => ({ provider: group[0].provider, model: group[0].model, ...promptCacheOf(group) }))
        .sort((a, b) => b.requests - a.requests)),
    promptCacheWrites: ({ model, ...window }) => Effect.sync(() => {
      const rows = within(window).filter((row) => model === undefined || row.model === model)
      const writesOf = (group: ReadonlyArray<LedgerRow>) => {
        const sizes = group.map((row) => row.tokensCacheCreation).filter((size) => size > 0).sort((a, b) => a - b)
        const at = (share: number): number => sizes[Math.ceil(share * sizes.length) - 1] ?? NaN
        return { ...promptCacheOf(group), writes: sizes.length, sizes: sizes.length === 0 ? null : [at(0.5), at(0.9), at(0.95), at(0.99), at(1)] as const }
      }
      return [
        { target: null, ...writesOf(rows) },
        ...grouped(rows, (row) => [row.provider, row.model])
          .map((group) => ({ target: { provider: group[0].provider, model: group[0].model }, ...writesOf(group) })).sort((a, b) => b.requests - a.requests)
      ]
    }),
    promptCacheHours: (window) => Effect.sync(() =>
      Array.from(Map.groupBy(within(window), (row) => Math.floor(row.startedAt / hourMs) * hourMs))
        .sort(([a], [b]) => a - b).map(([hour, group]) => ({ hour, ...promptCacheOf(group) }))),
    comboCalls: (window) => Effect.sync(() =>
      grouped(within(window).filter((row) => row.final && row.combo !== null), (row) => [row.combo, row.provider])
        .map((group): ComboCalls => ({ combo: group[0].combo ?? "", provider: group[0].provider, calls: group.length, avgMs: average(group.map(latency)) }))
        .sort((a, b) => b.calls - a.calls))
  }
}
