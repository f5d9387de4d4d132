/** History of what remained of the connections' quota windows. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { QuotaSnapshot } from "#schemas/records/QuotaSnapshot.ts"

type Op<A> = Effect.Effect<A, StoreError>

export interface QuotaHistory {
  readonly connectionId?: string
  /** ms since the epoch, inclusive. */
  readonly since: number
  /** At most 10000, which is the default. */
  readonly limit?: number
}

export class QuotaStore extends Context.Service<QuotaStore, {
  readonly insert: (rows: ReadonlyArray<QuotaSnapshot>) => Op<void>
  /** The newest row of every window that was written since, unless its reset has passed at `now`. */
  readonly latest: (now: number, since: number) => Op<ReadonlyArray<QuotaSnapshot>>
  /** Newest first. */
  readonly history: (query: QuotaHistory) => Op<ReadonlyArray<QuotaSnapshot>>
  /** Removes what is older than this time (ms since the epoch); answers how many rows went. */
  readonly removeBefore: (time: number) => Op<number>
  /** Removes all but the newest row of every window; answers how many rows went. */
  readonly removeHistory: Op<number>
}>()("gateway/ports/QuotaStore") {}
