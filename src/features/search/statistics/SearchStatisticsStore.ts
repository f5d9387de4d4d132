/** What searches came to, summed by hour, key, provider and connection. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type * as HourSums from "#src/platform/accounting/HourSums.ts"

export interface Sums {
  /** Searches that were answered, or failed. */
  readonly requests: number
  /** Calls of the provider. */
  readonly attempts: number
  /** Searches that the cache answered. */
  readonly cached: number
  /** Searches that failed. */
  readonly errors: number
  readonly costUsd: number
  /** Sum over all searches. */
  readonly durationMs: number
}

/** Summed by hour, key, provider and connection. */
export interface SearchSums extends Sums {
  /** Beginning of the hour, ms since the epoch. */
  readonly hour: number
  /** Null for callers without a key. */
  readonly keyId: string | null
  readonly provider: string
  readonly connectionId: string | null
}

/** Whose searches: those of one key (null: of callers without one), or all. */
export type Whose = { readonly keyId: string | null } | "all"

export interface ProviderSums extends Sums {
  readonly provider: string
  readonly connectionId: string | null
}

export interface HourTotal extends Sums {
  readonly hour: number
}

export class SearchStatisticsStore extends Context.Service<SearchStatisticsStore, HourSums.Store<SearchSums> & {
  readonly byProvider: (whose: Whose) => Effect.Effect<ReadonlyArray<ProviderSums>, StoreError>
  /** The oldest first. */
  readonly byHour: (whose: Whose, since: number) => Effect.Effect<ReadonlyArray<HourTotal>, StoreError>
}>()("gateway/features/search/SearchStatisticsStore") {}
