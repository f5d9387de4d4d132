/** Where sealed bodies of calls lie: one record per request. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"

export interface SealedBodies {
  /** Id of the request's first attempt. */
  readonly id: string
  /** ms since the epoch. */
  readonly createdAt: number
  readonly sealed: string
}

export class BodyStore extends Context.Service<BodyStore, {
  /** What is there already stays as it is. */
  readonly put: (records: ReadonlyArray<SealedBodies>) => Effect.Effect<void, StoreError>
  /** Those that are there count from then on as made at `time`, ms since the epoch. */
  readonly renew: (ids: ReadonlyArray<string>, time: number) => Effect.Effect<void, StoreError>
  /** Newest first; only what was made from `since` on. */
  readonly find: (ids: ReadonlyArray<string>, since: number) => Effect.Effect<ReadonlyArray<SealedBodies>, StoreError>
  /** Removes a bounded number of those made before `time`; answers how many. */
  readonly removeBefore: (time: number) => Effect.Effect<number, StoreError>
  /** Removes the oldest until the sealed bytes of the rest are `most` at most, a bounded number at once; answers how many. */
  readonly removeBeyond: (most: number) => Effect.Effect<number, StoreError>
}>()("gateway/features/bodies/BodyStore") {}
