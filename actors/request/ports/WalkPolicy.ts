/** How the targets of a plan are walked. */
import type { StatusReason } from "#schemas/statusReason.ts"
import type { AnswerCheck } from "./AnswerCheck.ts"
import type { Target } from "./Target.ts"

/** How a plan is walked; a single model is walked once (`once`). Delays in ms. */
export interface WalkPolicy {
  /** Repetitions of one target after a failure that may pass (408, 429, 5xx). */
  readonly maxRetries: number
  readonly retryDelayMs: number
  /** Before the next target after 502, 503 or 504, unless the failed one rests for long. */
  readonly fallbackDelayMs: number
  /** The other targets come before a repetition. */
  readonly failoverBeforeRetry: boolean
  /** Repetitions of the whole list. */
  readonly maxSetRetries: number
  readonly setRetryDelayMs: number
  /** Longest wait for a target's first content; null = the gateway's own deadlines only. */
  readonly targetTimeoutMs: number | null
  /** After this silence of a target the next one is called beside it, and the first answer wins; null = never. */
  readonly hedgeDelayMs: number | null
  /** Whether another target is asked after what this one said, `none` = it did not answer; absent: after every failure. */
  readonly fallsBackAfter?: (reason: StatusReason) => boolean
  /** The rules of an answer, else the next target is called; null = none. */
  readonly answers: AnswerCheck | null
  /** The same for one target, where providers have settings of their own (providerOverrides); absent: this one everywhere. */
  readonly at?: (target: Target) => WalkPolicy
}

/** What holds at one target; repetitions of the whole list are never its own. */
export const policyAt = (policy: WalkPolicy, target: Target): WalkPolicy => policy.at === undefined ? policy : policy.at(target)

/** A policy that is changed everywhere. */
export const changed = (policy: WalkPolicy, change: (policy: WalkPolicy) => WalkPolicy): WalkPolicy => {
  const { at } = policy
  return at === undefined ? change(policy) : { ...change(policy), at: (target) => change(at(target)) }
}

export const once: WalkPolicy = {
  maxRetries: 0, retryDelayMs: 0, fallbackDelayMs: 0, failoverBeforeRetry: true, maxSetRetries: 0, setRetryDelayMs: 0, targetTimeoutMs: null,
  hedgeDelayMs: null, answers: null
}
