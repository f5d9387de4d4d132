/**
 * The course of one request over its targets: which target is next and free, which were left out and until when, when to retry. Made
 * when the first target did not answer; a plain request never needs one.
 *
 * A part of the request's state: a transition changes its own copy, so a state that was handed out never changes.
 */
import * as AttemptFailure from "#actors/request/steps/attemptFailure.ts"
import type { SkipNote } from "#actors/request/Inbound.ts"
import type { Unavailable } from "#actors/request/ports/Resilience.ts"
import type { End, WalkRules } from "./RequestState.ts"
import type { PublicError } from "#schemas/errors.ts"
import { type Failed, notAsked, type NextTarget, Walk } from "./Walk.ts"
import * as StatusReason from "#schemas/statusReason.ts"

/** Whole seconds until then, at least 1. */
export const secondsUntil = (until: number, now: number): number => Math.max(1, Math.ceil((until - now) / 1000))

/** Blocks that say nothing of the target's health. */
const busy: ReadonlySet<Unavailable["reason"]> = new Set<Unavailable["reason"]>(["connection-busy", "model-busy"])

export class Course {
  readonly skips: Array<SkipNote>
  readonly #rules: WalkRules
  readonly #walk: Walk
  /** When an upstream said that it is back, by target, ms since the epoch. */
  readonly #saidBack: Map<number, number>
  /** Seconds; the earliest time any upstream named. */
  #earliestRetry: number | null
  #siblingTried: boolean

  /** `from`: the course that it is a copy of. */
  constructor(rules: WalkRules, from: Course | null) {
    this.#rules = rules
    this.skips = from === null ? [] : [...from.skips]
    this.#walk = from === null ? new Walk(rules.size, rules.policy, (index) => rules.policyOf(index)) : from.#walk.copy()
    this.#saidBack = new Map(from === null ? [] : from.#saidBack)
    this.#earliestRetry = from === null ? null : from.#earliestRetry
    this.#siblingTried = from === null ? false : from.#siblingTried
  }

  /** The next target that is free when its turn comes. */
  after(index: number, failed: Failed, now: number): NextTarget | null {
    let delayMs = 0
    let step = this.#walk.after(index, failed)
    while (step !== null) {
      // A pause before one that turns out to be blocked is a pause before the next.
      delayMs = Math.max(delayMs, step.delayMs)
      if (this.#isFree(step, delayMs, now)) return { index: step.index, delayMs, repeats: step.repeats }
      step = this.#walk.after(step.index, notAsked)
    }
    return null
  }

  /** The next target that is free now, to be called beside another; null when there is none. */
  beside(now: number): NextTarget | null {
    let step = this.#walk.beside()
    while (step !== null && !this.#isFree(step, 0, now)) step = this.#walk.beside()
    return step
  }

  /** `index` failed while another target is still being asked. */
  note(index: number, failed: Failed): void {
    this.#walk.note(index, failed)
  }

  #isFree({ index, repeats }: NextTarget, delayMs: number, now: number): boolean {
    const at = now + delayMs
    const blocked = this.#rules.blocked(index, at)
    if (blocked === null) return true
    // The upstream may have named an earlier time than the gateway's guess.
    if (blocked.soft === true && (repeats || this.#rules.lastResort) && at >= (this.#saidBack.get(index) ?? 0)) return true
    // The only target is busy: a repetition may wait for its turn there.
    if (this.#rules.size === 1 && blocked.reason === "connection-busy") return true
    this.leaveOut(index, blocked, now)
    return false
  }

  leaveOut(index: number, unavailable: Unavailable, now: number): void {
    this.skips.push({ index, unavailable })
    if (unavailable.until !== null) this.#hint(secondsUntil(unavailable.until, now))
  }

  #hint(seconds: number): void {
    if (this.#earliestRetry === null || seconds < this.#earliestRetry) this.#earliestRetry = seconds
  }

  /** A failed attempt may have said when to come back; an error inside a stream says it in its text (`retryAfterMs`). */
  hear(index: number, error: PublicError, retryAfterMs: number | null, now: number): void {
    if (retryAfterMs !== null) this.#saidBack.set(index, now + retryAfterMs)
    if (error.retryAfterSeconds !== null) this.#hint(error.retryAfterSeconds)
    else if (retryAfterMs !== null) this.#hint(Math.max(1, Math.ceil(retryAfterMs / 1000)))
  }

  /** The error of the whole request, with the earliest time to come back: not before one of its targets may be asked. */
  hinted(error: PublicError, now: number): PublicError {
    const earliest = this.#earliestRetry
    const said = error.retryAfterSeconds
    const hint = earliest === null || (said !== null && said <= earliest) ? said : earliest
    // What time does not mend gets no hint.
    if (hint === null && error.retry === "never") return error
    const refused = this.#refusedFor(now)
    const seconds = refused !== null && (hint === null || hint < refused) ? refused : hint
    return seconds === null || seconds === said ? error : AttemptFailure.withRetryAfter(error, seconds)
  }

  /** Seconds for which we would refuse every target ourselves; null when one may be asked before, or its end is not known. */
  #refusedFor(now: number): number | null {
    let first = Number.POSITIVE_INFINITY
    for (let index = 0; index < this.#rules.size; index++) {
      const blocked = this.#rules.resting(index, now)
      if (blocked === null || blocked.soft === true || blocked.until === null || busy.has(blocked.reason)) return null
      first = Math.min(first, blocked.until)
    }
    return secondsUntil(first, now)
  }

  /** What of a failed attempt decides about the next step. */
  failed(index: number, end: End, now: number): Failed {
    const inStream = StatusReason.isOk(end.upstreamStatus) && end.error !== null
    return {
      // A target whose answer was refused is healthy, and would answer the same again.
      reason: StatusReason.of(end.rejected ? 0 : inStream ? end.error.status : end.upstreamStatus),
      asked: true,
      tooLate: end.phase === "first-event",
      restsMs: this.#rules.policyOf(index).fallbackDelayMs === 0 ? 0 : this.#restOf(index, now)
    }
  }

  /** How long a target rests after its failure, ms; 0 when it does not, or its end is not known. */
  #restOf(index: number, now: number): number {
    const blocked = this.#rules.blocked(index, now)
    return blocked === null || blocked.until === null ? 0 : Math.max(0, blocked.until - now)
  }

  /**
   * A stream ended early twice on one connection: other connections of the same model are left out. The recovery flag
   * `sibling` spares one of them.
   */
  leaveSiblings(index: number): void {
    let spared = this.#rules.recovery.sibling && !this.#siblingTried
    this.#siblingTried = true
    this.#walk.drop((other) => {
      if (!this.#rules.isSameModel(index, other)) return false
      if (!spared) return true
      spared = false
      return false
    })
  }

  /** No connection was made, and none by a proxy: the other accounts behind the same way out are left out of this pass. */
  leaveEgress(index: number): void {
    this.#walk.drop((other) => this.#rules.sharesEgress(index, other))
  }
}

/** The target that is available first, and what it waits for; null unless the upstreams of all targets named a time. */
export const firstBack = (rules: WalkRules, now: number): SkipNote | null => {
  let first: SkipNote | null = null
  let soonest = Number.POSITIVE_INFINITY
  for (let index = 0; index < rules.size; index++) {
    const unavailable = rules.resting(index, now)
    if (unavailable === null || unavailable.soft === true) return null
    if (unavailable.reason !== "connection-cooldown" && unavailable.reason !== "model-cooldown") return null
    if (unavailable.until === null || unavailable.until >= soonest) continue
    soonest = unavailable.until
    first = { index, unavailable }
  }
  return first
}
