/**
 * The breaker before token endpoints (`tokenRefreshBreaker`): after `failureThreshold` failed renewals in a row neither the sweep nor a
 * request renews a token until `cooldownMs` have passed; then one renewal decides. A refused grant concerns that grant alone and does
 * not count. Pure but for its own fields.
 */
import type { ResilienceSettings } from "#schemas/records/ResilienceSettings.ts"

export type RefreshRule = ResilienceSettings["tokenRefreshBreaker"]

interface Place {
  failures: number
  /** ms since the epoch. */
  openUntil: number
}

/** Providers and connections whose failures are remembered; when full, all are forgotten. */
const maxPlaces = 10_000

export class RefreshBreaker {
  private readonly places = new Map<string, Place>()

  /** Until when no renewal may run; null when a renewal may run. */
  openUntil(rule: RefreshRule, provider: string, connectionId: string, now: number): number | null {
    const place = this.places.get(keyOf(rule, provider, connectionId))
    return place !== undefined && now < place.openUntil ? place.openUntil : null
  }

  /** Answers true when it opened. */
  failed(rule: RefreshRule, provider: string, connectionId: string, now: number): boolean {
    const key = keyOf(rule, provider, connectionId)
    let place = this.places.get(key)
    if (place === undefined) {
      if (this.places.size >= maxPlaces) this.places.clear()
      this.places.set(key, place = { failures: 0, openUntil: 0 })
    }
    place.failures++
    if (place.failures < rule.failureThreshold) return false
    place.openUntil = now + rule.cooldownMs
    return true
  }

  succeeded(rule: RefreshRule, provider: string, connectionId: string): void {
    this.places.delete(keyOf(rule, provider, connectionId))
  }
}

const keyOf = ({ scope }: RefreshRule, provider: string, connectionId: string): string =>
  scope === "provider" ? `provider\n${provider}` : `connection\n${connectionId}`
