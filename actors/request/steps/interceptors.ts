/** Asks the interceptors of a request, one after another, whether a target may be called. */
import type { Interceptor, CallRefusal } from "#actors/request/ports/Interceptor.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import { andThen, type Soon } from "./andThen.ts"

/** The first refusal, or null when all agreed; at once unless one has to wait. */
export const firstRefusal = (interceptors: ReadonlyArray<Interceptor>, target: Target, from = 0): Soon<CallRefusal | null> => {
  const interceptor = interceptors[from]
  if (interceptor === undefined) return null
  return andThen(interceptor.beforeAttempt(target), (refusal) => refusal === null ? firstRefusal(interceptors, target, from + 1) : refusal)
}
