/**
 * The course of one request over its targets: whose turn is next and free, who was left out and until when, when to come back. Made
 * when the first target did not answer; a plain request never needs one.
 */
import type { AttemptEnd } from "./Attempt.ts"
import * as AttemptFailure from "#actors/request/steps/attemptFailure.ts"
import { Blame } from "./Blame.ts"
import type { Inbound, SkipNote } from "./Inbound.ts"
import type { Resilience, Unavailable, Verdict } from "#actors/request/ports/Resilience.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import { policyAt } from "#actors/request/ports/WalkPolicy.ts"
import type { PublicError } from "#schemas/errors.ts"
import { type Failed, notAsked, type Step, Walk } from "./Walk.ts"

/** Whole seconds until then, at least 1. */
export const secondsUntil = (until: number, now: number): number => Math.max(1, Math.ceil((until - now) / 1000))

/** Blocks that say nothing of the target's health. */
const busy: ReadonlySet<Unavailable["reason"]> = new Set<Unavailable["reason"]>(["connection-busy", "model-busy"])

export class Course {
  readonly skips: Array<SkipNote> = []
  readonly blame = new Blame()
  /** Seconds; the earliest time any upstream named. */
  private earliestRetry: number | null = null
  private readonly inbound: Inbound
  private readonly check: Resilience["Service"]["check"]
  private readonly now: () => number
  private readonly walk: Walk
  private siblingTried = false
  /** When an upstream said that it is back, by target, ms since the epoch. */
  private readonly saidBack = new Map<number, number>()

  constructor(inbound: Inbound, check: Resilience["Service"]["check"], now: () => number) {
    this.inbound = inbound
    this.check = check
    this.now = now
    const { policy } = inbound.route
    this.walk = policy.at === undefined
      ? new Walk(inbound.targets.length, policy)
      : new Walk(inbound.targets.length, policy, (index) => policyAt(policy, this.targetAt(index)))
  }

  /** The next target that is free when its turn comes. */
  after(index: number, failed: Failed): Step | null {
    let delayMs = 0
    let step = this.walk.after(index, failed)
    while (step !== null) {
      // A pause before one that turns out to be blocked is a pause before the next.
      delayMs = Math.max(delayMs, step.delayMs)
      if (this.isFree(step, delayMs)) return { index: step.index, delayMs, repeats: step.repeats }
      step = this.walk.after(step.index, notAsked)
    }
    return null
  }

  /** The next target that is free now, to be asked beside another; null when there is none. */
  beside(): Step | null {
    let step = this.walk.beside()
    while (step !== null && !this.isFree(step, 0)) step = this.walk.beside()
    return step
  }

  /** `index` failed while another target is still being asked. */
  note(index: number, failed: Failed): void {
    this.walk.note(index, failed)
  }

  private isFree({ index, repeats }: Step, delayMs: number): boolean {
    const at = this.now() + delayMs
    const blocked = this.check(this.targetAt(index), at, this.blame)
    if (blocked === null) return true
    // Behind a guess of ours there may be an earlier time that the upstream named.
    if (blocked.soft === true && (repeats || this.inbound.route.lastResort) && at >= (this.saidBack.get(index) ?? 0)) return true
    // The only target is busy: a repetition may wait for its turn there.
    if (this.inbound.targets.length === 1 && blocked.reason === "connection-busy") return true
    this.leaveOut(index, blocked)
    return false
  }

  leaveOut(index: number, unavailable: Unavailable): void {
    this.skips.push({ index, unavailable })
    if (unavailable.until !== null) this.hint(secondsUntil(unavailable.until, this.now()))
  }

  private hint(seconds: number): void {
    if (this.earliestRetry === null || seconds < this.earliestRetry) this.earliestRetry = seconds
  }

  /** A failed attempt may have said when to come back; an error inside a stream says it in its text. */
  hear(index: number, error: PublicError, verdict: Verdict | null): void {
    if (verdict !== null && verdict.retryAfterMs !== null) this.saidBack.set(index, this.now() + verdict.retryAfterMs)
    if (error.retryAfterSeconds !== null) this.hint(error.retryAfterSeconds)
    else if (verdict !== null && verdict.retryAfterMs !== null) this.hint(Math.max(1, Math.ceil(verdict.retryAfterMs / 1000)))
  }

  /** The error of the whole request, with the earliest time to come back: not before one of its targets may be asked. */
  hinted(error: PublicError): PublicError {
    const { earliestRetry } = this
    const said = error.retryAfterSeconds
    const hint = earliestRetry === null || (said !== null && said <= earliestRetry) ? said : earliestRetry
    // What time does not mend gets no hint.
    if (hint === null && error.status < 500 && error.status !== 429) return error
    const refused = this.refusedFor()
    const seconds = refused !== null && (hint === null || hint < refused) ? refused : hint
    return seconds === null || seconds === said ? error : AttemptFailure.withRetryAfter(error, seconds)
  }

  /** Seconds for which we would refuse every target ourselves; null when one may be asked before, or nobody knows. */
  private refusedFor(): number | null {
    const now = this.now()
    let first = Number.POSITIVE_INFINITY
    for (const target of this.inbound.targets) {
      const blocked = this.check(target, now)
      if (blocked === null || blocked.soft === true || blocked.until === null || busy.has(blocked.reason)) return null
      first = Math.min(first, blocked.until)
    }
    return secondsUntil(first, now)
  }

  /** What of a failed attempt decides about the next step. */
  failed(index: number, end: AttemptEnd): Failed {
    const { policy } = this.inbound.route
    const inStream = end.upstreamStatus >= 200 && end.upstreamStatus < 300 && end.error !== null
    return {
      // A target whose answer was refused is well, and would say the same again.
      status: end.rejected ? 0 : inStream ? end.error.status : end.upstreamStatus,
      asked: true,
      tooLate: end.phase === "first-event",
      restsMs: policyAt(policy, this.targetAt(index)).fallbackDelayMs === 0 ? 0 : this.restOf(index)
    }
  }

  /** How long a target rests after its failure, ms; 0 when it does not, or nobody knows. */
  private restOf(index: number): number {
    const blocked = this.check(this.targetAt(index), this.now())
    return blocked === null || blocked.until === null ? 0 : Math.max(0, blocked.until - this.now())
  }

  /**
   * A stream ended early twice on one connection: other connections of the same model are left out. The recovery flag
   * `sibling` spares one of them.
   */
  leaveSiblings(index: number): void {
    const failed = this.targetAt(index)
    let spared = this.inbound.recovery.sibling && !this.siblingTried
    this.siblingTried = true
    this.walk.drop((other) => {
      const target = this.targetAt(other)
      if (target.provider !== failed.provider || target.model !== failed.model) return false
      if (!spared) return true
      spared = false
      return false
    })
  }

  private targetAt(index: number): Target {
    return this.inbound.targets[index] as Target
  }
}
