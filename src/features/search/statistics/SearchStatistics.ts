/** Counts searches in memory, and adds the sums to the store in rounds. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as HourSums from "#src/platform/accounting/HourSums.ts"
import { type HourTotal, type ProviderSums, type SearchSums, SearchStatisticsStore, type Whose } from "./SearchStatisticsStore.ts"

/** One search, or one call of a provider. */
export type Noted = Omit<SearchSums, "hour">

export class SearchStatistics extends Context.Service<SearchStatistics, {
  readonly note: (noted: Noted) => void
  readonly byProvider: (whose: Whose) => Effect.Effect<ReadonlyArray<ProviderSums>, StoreError>
  readonly byHour: (whose: Whose, since: number) => Effect.Effect<ReadonlyArray<HourTotal>, StoreError>
}>()("gateway/features/search/SearchStatistics") {}

const searches: HourSums.Kind<SearchSums> = {
  loop: "search statistics",
  goneBefore: (now) => now - HourSums.KEPT_MS,
  nameOf: ({ connectionId, hour, keyId, provider }) => JSON.stringify([hour, keyId, provider, connectionId]),
  plus: (a, b) => ({
    ...a, requests: a.requests + b.requests, attempts: a.attempts + b.attempts, cached: a.cached + b.cached, errors: a.errors + b.errors,
    costUsd: a.costUsd + b.costUsd, durationMs: a.durationMs + b.durationMs
  })
}

const make = Effect.gen(function*() {
  const store = yield* SearchStatisticsStore
  const sums = yield* HourSums.make(store, searches)
  return SearchStatistics.of({
    note: (noted) => sums.note([noted]),
    // What this node counted a moment ago is shown, too.
    byProvider: (whose) => Effect.andThen(sums.written, store.byProvider(whose)),
    byHour: (whose, since) => store.byHour(whose, since)
  })
})

export const layer = Layer.effect(SearchStatistics, make)
