/**
 * Targets whose proxy failed a short while ago are left out of plans, as a guess: where every target is left out, all of them are asked. A
 * request that is under way goes through its plan as it was made. Pure.
 */
import type { Asides } from "#actors/egress/Asides.ts"
import { type Resilience, stricter, type Unavailable } from "#actors/request/ports/Resilience.ts"
import type { Target } from "#actors/request/ports/Target.ts"

/** What sets a target aside; null for one that leaves by no proxy, or by a proxy that is chosen for each call. */
export const unavailable = ({ proxy }: Pick<Target, "proxy">, asides: Asides, now: number): Unavailable | null => {
  if (proxy === null || proxy.among !== undefined) return null
  const aside = asides.of(proxy.id, now)
  return aside === null ? null : {
    reason: "proxy-aside", until: aside.until, soft: true,
    detail: `The proxy ${proxy.id} is set aside. Failures in a row: ${aside.failures}.`
  }
}

export const over = (resilience: Resilience["Service"], asides: Asides): Resilience["Service"] => ({
  check: (target, now, ownFailures) => stricter(resilience.check(target, now, ownFailures), unavailable(target, asides, now)),
  enter: resilience.enter,
  spent: resilience.spent,
  health: resilience.health
})
