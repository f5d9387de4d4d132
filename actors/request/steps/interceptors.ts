/** Asks those who go along with a request, one after another, for leave to call a target. */
import type { Companion, Refusal } from "#actors/request/ports/Interceptor.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import { andThen, type Soon } from "./andThen.ts"

/** The first refusal, or null when everybody agreed; at once unless somebody has to wait. */
export const leave = (companions: ReadonlyArray<Companion>, target: Target, from = 0): Soon<Refusal | null> => {
  const companion = companions[from]
  if (companion === undefined) return null
  return andThen(companion.beforeAttempt(target), (refusal) => refusal === null ? leave(companions, target, from + 1) : refusal)
}
