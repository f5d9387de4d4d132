/** The clock by which blocks end. */
import type * as Clock from "effect/Clock"

/**
 * ms since about the epoch, by a clock that never goes back and never stands: it counts a pause of the process (both clocks do) and of the
 * machine (the wall's does), and a wall clock that is set back prolongs nothing.
 */
export const make = (clock: Pick<Clock.Clock, "currentTimeMillisUnsafe" | "monotonicTimeNanosUnsafe">): () => number => {
  let ahead = Number.NEGATIVE_INFINITY
  return () => {
    const monotonic = Number(clock.monotonicTimeNanosUnsafe()) / 1e6
    ahead = Math.max(ahead, clock.currentTimeMillisUnsafe() - monotonic)
    return monotonic + ahead
  }
}
