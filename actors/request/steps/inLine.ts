/** A request's wait for its turn, as an effect: interrupted, it leaves the line. */
import * as Effect from "effect/Effect"
import type { Resilience, Unavailable } from "#actors/request/ports/Resilience.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { Turn, Turns, Wish } from "#actors/request/ports/Turns.ts"

/** Null when nobody may wait for that. A turn `go` is taken in the step that follows, before anybody else is called. */
export const turnOf = (turns: Pick<Turns["Service"], "join">, wish: Wish): Effect.Effect<Turn | null> =>
  Effect.callback<Turn | null>((resume) => {
    const joined = turns.join(wish, (turn) => resume(Effect.succeed(turn)))
    if (typeof joined !== "function") {
      resume(Effect.succeed(joined))
      return
    }
    return Effect.sync(joined)
  })

/** A target that rests until a time that its upstream named. */
export interface Resting {
  readonly index: number
  readonly target: Target
  readonly unavailable: Unavailable
}

/** The first that comes back; null unless all of them rest. `now`: ms since the epoch. */
export const firstBack = (targets: ReadonlyArray<Target>, check: Resilience["Service"]["check"], now: number): Resting | null => {
  let first: Resting | null = null
  let soonest = Number.POSITIVE_INFINITY
  for (const [index, target] of targets.entries()) {
    const unavailable = check(target, now)
    if (unavailable === null || unavailable.soft === true) return null
    if (unavailable.reason !== "connection-cooldown" && unavailable.reason !== "model-cooldown") return null
    if (unavailable.until === null || unavailable.until >= soonest) continue
    soonest = unavailable.until
    first = { index, target, unavailable }
  }
  return first
}
