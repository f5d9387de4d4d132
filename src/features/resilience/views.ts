/** What an operator sees of the places of a node: copies, made when they are asked for. */
import { allModels } from "#src/features/resilience/ports/CooldownFeed.ts"
import type { BreakerView, CooldownView, LockoutView, PlaceView } from "#src/features/resilience/ports/ResilienceControl.ts"
import * as ProviderBreaker from "#actors/resilience/ProviderBreaker.ts"
import type { ConnectionPlace, ProviderPlace } from "#src/features/resilience/local/places.ts"
import type { Effective } from "#src/features/resilience/ports/resilienceSettings.ts"

export const statusText = (status: number): string => status === 0 ? "no answer" : `HTTP ${status}`

export const breakers = (places: Iterable<ProviderPlace>, effective: Effective, now: number): ReadonlyArray<BreakerView> =>
  Array.from(places, ({ breaker, id, profile }) => ({
    provider: id,
    state: ProviderBreaker.phaseOf(breaker, effective.breaker[profile], now),
    model: breaker.openUntil === null ? null : breaker.only,
    failures: breaker.failures,
    lastFailureAt: breaker.lastFailureAt,
    retryAfterMs: breaker.openUntil === null ? 0 : Math.max(0, breaker.openUntil - now)
  }))

export const cooldowns = (places: Iterable<readonly [id: string, place: ConnectionPlace]>, now: number): ReadonlyArray<CooldownView> => {
  const views: Array<CooldownView> = []
  for (const [connectionId, { cooldown: { level, reason, until } }] of places) if (now < until) views.push({ connectionId, until, level, reason })
  return views.sort((a, b) => a.until - b.until)
}

/** With the cooldowns of whole providers, which are of all models. */
export const lockouts = (providers: Iterable<ProviderPlace>, places: Iterable<ConnectionPlace>, now: number): ReadonlyArray<LockoutView> => {
  const views: Array<LockoutView> = []
  for (const { cooldown: { level, reason, status, until }, id } of providers) {
    if (now < until) views.push({ provider: id, connectionId: null, model: allModels, reason: `${reason} (${statusText(status)})`, until, failureCount: level })
  }
  for (const { id, models, provider } of places) {
    for (const [model, { cooldown, lockout }] of models) {
      if (now < cooldown.until) {
        const reason = `${cooldown.reason} (${statusText(cooldown.status)})`
        views.push({ provider, connectionId: id, model, reason, until: cooldown.until, failureCount: Math.max(1, cooldown.level) })
      }
      if (lockout === null || now >= lockout.until) continue
      views.push({ provider, connectionId: id, model, reason: statusText(lockout.status), until: lockout.until, failureCount: lockout.failures })
    }
  }
  return views.sort((a, b) => a.until - b.until)
}

export const placeOf = (connectionId: string, place: ConnectionPlace | undefined, max: number, waiting: number): PlaceView =>
  ({ connectionId, running: place?.inFlight ?? 0, max, waiting })

export const inFlight = (places: Iterable<ProviderPlace>, total: number): { readonly total: number; readonly perProvider: Readonly<Record<string, number>> } =>
  ({ total, perProvider: Object.fromEntries(Array.from(places).filter((place) => place.inFlight > 0).map((place) => [place.id, place.inFlight])) })
