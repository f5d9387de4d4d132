/** What compression of prompts saved, summed by hour, mode, combo and engine. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type * as HourSums from "#src/platform/accounting/HourSums.ts"

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

/** Summed by hour, mode, combo and engine. */
export interface CompressionSums extends PartSums {
  /** Beginning of the hour, ms since the epoch. */
  readonly hour: number
}

export class CompressionStatisticsStore extends Context.Service<CompressionStatisticsStore, HourSums.Store<CompressionSums> & {
  /** Of hours from a time on (ms), ordered by mode, combo and engine. */
  readonly since: (hour: number) => Effect.Effect<ReadonlyArray<PartSums>, StoreError>
}>()("gateway/features/compression/CompressionStatisticsStore") {}
