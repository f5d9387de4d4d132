/** Placed work that ends or fails begins again after a while: failure is supervision. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"

const AGAIN_MS = 1_000

export const supervised = (name: string, work: Effect.Effect<void>): Effect.Effect<void> =>
  work.pipe(
    Effect.catchCause((cause) => Cause.hasInterruptsOnly(cause) ? Effect.failCause(cause) : Effect.logError(`${name} failed and begins again`, cause)),
    Effect.andThen(Effect.sleep(AGAIN_MS)),
    Effect.forever
  )
