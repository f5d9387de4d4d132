/** What this node knows of one rule of a key about a rate: the places that it has taken and not yet used. */
import type { RateRule } from "#actors/limits/rules.ts"

/** Longest time for which a refusal is remembered, ms. */
export const REFUSED_MS = 100

export class Rate {
  rule: RateRule
  /** Places that this node holds. */
  permits = 0
  /** From then on they count as used, ms since the epoch. */
  permitsUntil = 0
  /** Until then the store need not be called again, ms since the epoch. */
  refusedUntil = 0
  /** When a place becomes free, ms since the epoch. */
  freeAt = 0
  /** Requests in line for an exchange. */
  waiting = 0
  /** Places used of the newest grant. */
  usedOfGrant = 0

  constructor(rule: RateRule) {
    this.rule = rule
  }

  /** The store refused just now. A clock that was set back must not prolong that. */
  isRefused(now: number): boolean {
    return this.refusedUntil > now && this.refusedUntil <= now + REFUSED_MS
  }
}
