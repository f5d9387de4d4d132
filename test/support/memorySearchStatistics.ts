/** Sums of searches without a database. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type SearchSums, SearchStatisticsStore, type Sums, type Whose } from "#src/features/search/statistics/SearchStatisticsStore.ts"

const zero: Sums = { requests: 0, attempts: 0, cached: 0, errors: 0, costUsd: 0, durationMs: 0 }

const sumOf = (rows: ReadonlyArray<Sums>): Sums => rows.reduce((sum, one) => ({
  requests: sum.requests + one.requests, attempts: sum.attempts + one.attempts, cached: sum.cached + one.cached, errors: sum.errors + one.errors,
  costUsd: Math.round((sum.costUsd + one.costUsd) * 1e10) / 1e10, durationMs: sum.durationMs + one.durationMs
}), zero)

export const layer = Layer.sync(SearchStatisticsStore, () => {
  let rows: ReadonlyArray<SearchSums> = []
  const stored = new Map<string, number>()
  const of = (whose: Whose) => rows.filter(({ keyId }) => whose === "all" || whose.keyId === keyId)
  return {
    add: ({ at, id, rows: added }) => Effect.sync(() => {
      if (stored.has(id)) return
      stored.set(id, at)
      rows = [...rows, ...added]
    }),
    byProvider: (whose) => Effect.sync(() => Array.from(
      Map.groupBy(of(whose), ({ connectionId, provider }) => `${provider}\n${connectionId ?? ""}`),
      ([, own]) => ({ provider: own[0]?.provider ?? "", connectionId: own[0]?.connectionId ?? null, ...sumOf(own) })
    ).sort((a, b) => a.provider < b.provider ? -1 : a.provider > b.provider ? 1 : (a.connectionId ?? "") < (b.connectionId ?? "") ? -1 : 1)),
    byHour: (whose, since) => Effect.sync(() => Array.from(
      Map.groupBy(of(whose).filter(({ hour }) => hour >= since), ({ hour }) => hour), ([hour, own]) => ({ hour, ...sumOf(own) })
    ).sort((a, b) => a.hour - b.hour)),
    removeBefore: (hour, batch) => Effect.sync(() => {
      const before = rows.length
      for (const [id, at] of stored) if (at < batch) stored.delete(id)
      rows = rows.filter((row) => row.hour >= hour)
      return before - rows.length
    })
  }
})
