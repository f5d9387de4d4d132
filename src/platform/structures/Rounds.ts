/** Work that is repeated only while there is some: no timer runs for a feature that nobody uses. */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"

export interface Rounds {
  /** Begins when rounds are needed and none run; to be called after everything that may have made it so. */
  readonly wake: () => void
}

/** Each round begins `every` after the one before it ended, the first so long after the wake; they end with the scope. */
export const make = Effect.fnUntraced(function*(needed: () => boolean, every: Duration.Input, round: Effect.Effect<void>) {
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  let awake = false
  const next: Effect.Effect<void> = Effect.suspend(() => {
    if (needed()) return Effect.andThen(Effect.sleep(every), Effect.suspend(() => needed() ? Effect.andThen(round, next) : next))
    awake = false
    return Effect.void
  })
  const rounds: Rounds = {
    wake: () => {
      if (awake || !needed()) return
      awake = true
      fork(next)
    }
  }
  rounds.wake()
  return rounds
})
