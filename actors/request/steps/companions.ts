/** Asks those who go along with a request, one after another, for leave to call a target. */
import * as Effect from "effect/Effect"
import type { Companion, Refusal } from "#actors/request/ports/Companion.ts"
import type { Target } from "#actors/request/ports/Target.ts"

/** Goes on with the first refusal, or with null when everybody agreed; at once unless somebody has to wait. */
export const leave = <A>(
  companions: ReadonlyArray<Companion>,
  target: Target,
  then: (refusal: Refusal | null) => Effect.Effect<A>,
  from = 0
): Effect.Effect<A> => {
  for (let i = from; i < companions.length; i++) {
    const answer = (companions[i] as Companion).beforeAttempt(target)
    if (answer === null) continue
    if (!Effect.isEffect(answer)) return then(answer)
    return Effect.flatMap(answer, (refusal) => refusal === null ? leave(companions, target, then, i + 1) : then(refusal))
  }
  return then(null)
}
