/**
 * Which target of a plan comes next: pure bookkeeping of one request's walk over its ordered targets. It knows no time and
 * no budget: `Course.ts` asks it after each failure, and `transition.ts` keeps the one budget of attempts and time.
 */

import type { WalkPolicy } from "#actors/request/ports/WalkPolicy.ts"
import type * as StatusReason from "#schemas/statusReason.ts"

export interface NextTarget {
  readonly index: number
  readonly delayMs: number
  /** It is part of a repetition: a pause that is only the gateway's guess does not delay it. */
  readonly repeats: boolean
}

/** What of a failure decides about repetition. */
export interface Failed {
  /** What the upstream's status said; `none` when it never answered or the target was not asked. */
  readonly reason: StatusReason.StatusReason
  /** False for a target that was passed over: it is not repeated. */
  readonly asked: boolean
  /** A stream that began too late is not repeated on the same target. */
  readonly tooLate: boolean
  /** How long the target is in cooldown, ms; 0 when it is not, or when the end is unknown. */
  readonly restsMs: number
}

/** A target that was passed over without a wire call. */
export const notAsked: Failed = { reason: "none", asked: false, tooLate: false, restsMs: 0 }

const infrastructure: ReadonlySet<StatusReason.StatusReason> = new Set(["bad-gateway", "unavailable", "gateway-timeout"])
const mayPass: ReadonlySet<StatusReason.StatusReason> = new Set([...infrastructure, "request-timeout", "rate-limit", "failed"])
/** Longest rest of a target that the walk waits for before it takes the next one, ms. */
const longestWaitMs = 5_000

export class Walk {
  private readonly size: number
  private readonly policy: WalkPolicy
  private readonly policyOf: (index: number) => WalkPolicy
  /** Targets of this pass that are still to come; starts as the whole list. */
  private pending: Array<number>
  /** Targets that may be repeated in the next pass. */
  private repeatable: Array<number> = []
  private readonly retries = new Map<number, number>()
  private sets = 0
  /** What is still to come was asked before. */
  private repeats = false

  /** `policyOf`: of one target, where they differ. */
  constructor(size: number, policy: WalkPolicy, policyOf: (index: number) => WalkPolicy = () => policy) {
    this.size = size
    this.policy = policy
    this.policyOf = policyOf
    this.pending = Array.from({ length: size }, (_, i) => i).slice(1)
  }

  /** The same walk from here on, apart from this one. */
  copy(): Walk {
    const walk = new Walk(this.size, this.policy, this.policyOf)
    walk.pending = [...this.pending]
    walk.repeatable = [...this.repeatable]
    for (const [index, retries] of this.retries) walk.retries.set(index, retries)
    walk.sets = this.sets
    walk.repeats = this.repeats
    return walk
  }

  /** The step after a failure of `index`; null when the plan is over. */
  after(index: number, failed: Failed): NextTarget | null {
    const { failoverBeforeRetry, fallbackDelayMs, fallsBackAfter, retryDelayMs } = this.policyOf(index)
    if (failed.asked && fallsBackAfter !== undefined && !fallsBackAfter(failed.reason)) return null
    const { maxSetRetries, setRetryDelayMs } = this.policy
    const repeats = this.mayRepeat(index, failed)
    if (repeats && !failoverBeforeRetry) {
      this.retries.set(index, (this.retries.get(index) ?? 0) + 1)
      return { index, delayMs: retryDelayMs, repeats: true }
    }
    if (repeats) this.repeatable.push(index)
    const next = this.pending.shift()
    if (next !== undefined) {
      return { index: next, delayMs: infrastructure.has(failed.reason) && failed.restsMs <= longestWaitMs ? fallbackDelayMs : 0, repeats: this.repeats }
    }
    if (this.repeatable.length > 0) {
      for (const one of this.repeatable) this.retries.set(one, (this.retries.get(one) ?? 0) + 1)
      this.pending = this.repeatable
      this.repeatable = []
      this.repeats = true
      const first = this.pending.shift() as number
      return { index: first, delayMs: this.policyOf(first).retryDelayMs, repeats: true }
    }
    if (this.sets >= maxSetRetries) return null
    this.sets++
    this.retries.clear()
    this.pending = Array.from({ length: this.size }, (_, i) => i).slice(1)
    this.repeats = true
    return { index: 0, delayMs: setRetryDelayMs, repeats: true }
  }

  /** The next target of this pass, beside one that is still being asked; null when there is none. */
  beside(): NextTarget | null {
    const index = this.pending.shift()
    return index === undefined ? null : { index, delayMs: 0, repeats: this.repeats }
  }

  /** `index` failed while another target is still being asked: it may be repeated later. */
  note(index: number, failed: Failed): void {
    if (this.mayRepeat(index, failed)) this.repeatable.push(index)
  }

  private mayRepeat(index: number, { asked, reason, tooLate }: Failed): boolean {
    return asked && !tooLate && mayPass.has(reason) && (this.retries.get(index) ?? 0) < this.policyOf(index).maxRetries
  }

  /** Leaves out the targets of this pass that `drops` names (siblings of a stream that ended early). */
  drop(drops: (index: number) => boolean): void {
    this.pending = this.pending.filter((index) => !drops(index))
  }
}
