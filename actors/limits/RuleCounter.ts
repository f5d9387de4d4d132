/** What this node knows of one rule of a key about an amount. */
import * as Meter from "#actors/limits/Meter.ts"
import type { AmountRule } from "#actors/limits/rules.ts"
import type { Unsettled } from "#actors/limits/ports/LimitStore.ts"

export class RuleCounter {
  rule: AmountRule
  meter: Meter.Meter
  /** Begin of the window in which the meter counts all that this node used, what it did before the meter began too. */
  basedAt: number | null = null
  /** An exchange was sent and not answered: the store may hold a block for us that we know nothing of. */
  unsure = false
  /** The store counts a block for us: what it gave, or what was reserved when it was asked. */
  isCounted = false
  /** Expired blocks of other nodes. */
  unsettled: ReadonlyArray<Unsettled> = []
  /** When the truth about them was last looked for, ms by the steady clock. */
  lookedAt = Number.NEGATIVE_INFINITY
  /** When the next block of another node may expire, so that its true usage is found although the key is idle; ms by the steady clock. */
  nextExpiryAt = Number.POSITIVE_INFINITY
  /** The newest reservation, ms by the steady clock. */
  lastUsedAt = 0
  /** Until then a lack is refused without asking the store again, ms by the steady clock. */
  shortUntil = 0
  /** Largest reservation lately, for blocks ahead of need. */
  typical = 1
  /** Sum of what the requests in line for an exchange need. */
  waiting = 0
  /** Begin of the window in which it was told that the limit is near. */
  private nearIn: number | null = null

  constructor(rule: AmountRule, now: number) {
    this.rule = rule
    this.meter = Meter.make(rule.window, rule.limit, now)
  }

  /** True once in a window: so much is used that the limit is near, and it is not used up. */
  comesNear(): boolean {
    const { meter, rule: { warnAt } } = this
    if (warnAt === undefined || this.nearIn === meter.start) return false
    const used = Meter.used(meter)
    if (used < warnAt || used >= meter.limit) return false
    this.nearIn = meter.start
    return true
  }
}
