import { shownProvider, type Snapshot } from "#actors/ports/Configuration.ts"
import type { ResilienceControl } from "./ResilienceControl.ts"
import * as Schema from "effect/Schema"
import { knownProvider } from "#src/management/knownProvider.ts"

export const Breaker = Schema.Struct({
  provider: Schema.String,
  state: Schema.Literals(["closed", "degraded", "open", "half-open"]),
  /** The one model that an open breaker refuses; null = all of them, or it refuses none. */
  model: Schema.NullOr(Schema.String),
  failures: Schema.Int,
  lastFailure: Schema.NullOr(Schema.String),
  retryAfterMs: Schema.Number
}).annotate({ identifier: "Breaker" })
export interface BreakerRow extends Schema.Schema.Type<typeof Breaker> {}

/** This node's breakers in the form of management replies, without those of provider nodes that were deleted. */
export const breakerRows = (control: ResilienceControl["Service"], snapshot: Snapshot, now: number): ReadonlyArray<BreakerRow> =>
  control.breakers(now).filter(({ provider }) => knownProvider(snapshot, provider) !== null).map(({ lastFailureAt, ...breaker }) => ({
    ...breaker, provider: shownProvider(snapshot, breaker.provider), lastFailure: lastFailureAt === null ? null : new Date(lastFailureAt).toISOString()
  }))
