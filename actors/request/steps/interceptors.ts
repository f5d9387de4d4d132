/** What the interceptors of a request say before a wire call: whether a target may be called, and which of them watch the call. */
import type { Interceptor, CallRefusal, Watch } from "#actors/request/ports/Interceptor.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import { andThen, type Soon } from "./andThen.ts"

/** The first refusal, or null when all agreed; at once unless one has to wait. */
export const firstRefusal = (interceptors: ReadonlyArray<Interceptor>, target: Target, from = 0): Soon<CallRefusal | null> => {
  const interceptor = interceptors[from]
  if (interceptor === undefined) return null
  return andThen(interceptor.beforeAttempt(target), (refusal) => {
    if (refusal === null) return firstRefusal(interceptors, target, from + 1)
    unused(interceptors, target, from)
    return refusal
  })
}

/** No call follows the leave of the first ones, of all by default. */
export const unused = (interceptors: ReadonlyArray<Interceptor>, target: Target, count = interceptors.length): void => {
  for (let at = 0; at < count; at++) interceptors[at]?.unused?.(target)
}

/** The one that looks at wire calls; null for most requests. */
export const watchOf = (interceptors: ReadonlyArray<Interceptor>): Watch | null => {
  for (const { watch } of interceptors) if (watch !== undefined) return watch
  return null
}
