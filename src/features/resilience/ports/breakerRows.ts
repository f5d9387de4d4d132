import { shownProvider, type Snapshot } from "#actors/ports/Configuration.ts"
import type { ResilienceControl } from "./ResilienceControl.ts"
import type { BreakerRow } from "#src/features/resilience/api.ts"

/** This node's breakers in the form of management replies. */
export const breakerRows = (control: ResilienceControl["Service"], snapshot: Snapshot, now: number): ReadonlyArray<BreakerRow> =>
  control.breakers(now).map(({ lastFailureAt, ...breaker }) => ({
    ...breaker, provider: shownProvider(snapshot, breaker.provider), lastFailure: lastFailureAt === null ? null : new Date(lastFailureAt).toISOString()
  }))
