/** What compression of prompts saved, summed by hour, mode, combo and engine. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"

export interface Sums {
  readonly requests: number
  /** Estimated tokens. */
  readonly before: number
  readonly after: number
  /** Requests of which a text failed its validation and was sent as it came. */
  readonly fallbacks: number
}

export interface Part {
  readonly mode: string
  readonly comboId: string | null
  /** Null: the request as a whole. */
  readonly engine: string | null
}

export interface PartSums extends Part, Sums {}

export interface HourSums extends PartSums {
  /** Beginning of the hour, ms since the epoch. */
  readonly hour: number
}

/** Sums that are added together, once. */
export interface Batch {
  readonly id: string
  /** ms since the epoch. */
  readonly at: number
  /** No two of the same hour, mode, combo and engine. */
  readonly rows: ReadonlyArray<HourSums>
}

export class CompressionStatisticsStore extends Context.Service<CompressionStatisticsStore, {
  /** Adds to what is stored; a batch that is stored already changes nothing. */
  readonly add: (batch: Batch) => Effect.Effect<void, StoreError>
  /** Of hours from a time on (ms), ordered by mode, combo and engine. */
  readonly since: (hour: number) => Effect.Effect<ReadonlyArray<PartSums>, StoreError>
  /** Removes hours, and the ids of batches, before a time; answers how many hours went. */
  readonly removeBefore: (hour: number, batch: number) => Effect.Effect<number, StoreError>
}>()("gateway/features/compression/CompressionStatisticsStore") {}
