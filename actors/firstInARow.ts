/** The expected failures of a loop's rounds: of several in a row the first one is told, and the log is not filled with the rest. */
import * as Effect from "effect/Effect"

/** Never fails; `tell` runs at the first failure since a success, or since the start. Make one for each loop, outside of its rounds. */
export const firstInARow = <E, R>(round: Effect.Effect<unknown, E, R>, tell: (error: E) => Effect.Effect<void>): Effect.Effect<void, never, R> => {
  let fails = false
  return Effect.matchEffect(round, {
    onSuccess: () => Effect.sync(() => {
      fails = false
    }),
    onFailure: (error) => Effect.suspend(() => {
      const isFirst = !fails
      fails = true
      return isFirst ? tell(error) : Effect.void
    })
  })
}
