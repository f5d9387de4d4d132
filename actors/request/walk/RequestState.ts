/**
 * The state of one request: what happens to it (events), what its fiber must do (intents), and its limits (rules).
 *
 * A try is one target's turn. It waits (for its place, its token, its interceptors), then it is called at most once; every
 * try that was called is settled once. A request has one try at a time, two while it is hedged.
 */
import type { AttemptEnd } from "#actors/request/steps/attemptValues.ts"
import type { Course } from "./Course.ts"
import type { RecoveryOptions } from "#actors/request/Inbound.ts"
import type { Unavailable } from "#actors/request/ports/Resilience.ts"
import type { TurnOutcome } from "#actors/request/ports/Turns.ts"
import type { WalkPolicy } from "#actors/request/ports/WalkPolicy.ts"
import type { PublicError } from "#schemas/errors.ts"

export interface TryState {
  /** 0 for the first try of the request. */
  readonly id: number
  /** Place among the targets. */
  readonly index: number
  /** The same target was asked immediately before. */
  readonly repeated: boolean
  /** It may pass over a pause of its target that is only our guess. */
  readonly insists: boolean
  /** Its wire call was made. */
  readonly called: boolean
  /** Content of its answer came, whether or not the client has it. */
  readonly speaks: boolean
  /** Why it has no place at its target; null unless it waits for one. */
  readonly blocked: Unavailable | null
}

export interface State {
  /** The try that follows the order of the targets, or the one whose answer the client receives. */
  readonly primary: TryState | null
  /** The one that joined it. */
  readonly hedge: TryState | null
  /** Was cut because another try decided; its end is still to come. */
  readonly losing: TryState | null
  readonly hedgeArmed: boolean
  /** What is asked when the running delay is over. */
  readonly delayed: { readonly index: number; readonly insists: boolean } | null
  /** Tries so far. */
  readonly tries: number
  /** Wire calls so far. */
  readonly attempts: number
  /** Made when the first target did not answer. */
  readonly course: Course | null
  /** The client has content. */
  readonly committed: boolean
  /** Calls so far that continue an answer which broke off. */
  readonly continuations: number
  /** Text of that answer when it broke off last. */
  readonly partialText: string | null
  /** The target whose cooldown is awaited; -1 = none. */
  readonly restsAt: number
  /** Waits for a place so far. */
  readonly rounds: number
  /** An interceptor refused the whole request: no other target may be called. */
  readonly barred: boolean
  readonly clientGone: boolean
  readonly shuttingDown: boolean
  /** The outcome is decided: a try that ends later is only settled. */
  readonly over: boolean
  /** How the newest wire call failed. */
  readonly failure: PublicError | null
  /** Why the newest target was passed over without a wire call. */
  readonly refusal: PublicError | null
}

export const fresh: State = {
  primary: null, hedge: null, losing: null, hedgeArmed: false, delayed: null, tries: 0, attempts: 0, course: null, committed: false, continuations: 0,
  partialText: null, restsAt: -1, rounds: 0, barred: false, clientGone: false, shuttingDown: false, over: false, failure: null, refusal: null
}

/** Nothing of it runs any more, and nothing will. */
export const isDone = ({ hedge, primary, losing, over }: State): boolean => over && primary === null && hedge === null && losing === null

/** The try has not been called yet, and was not cancelled. */
export const isWaiting = ({ hedge, primary }: State, id: number): boolean => {
  const one = primary !== null && primary.id === id ? primary : hedge
  return one !== null && one.id === id && !one.called
}

/** What of an attempt's end decides about the next step. */
export type End = Pick<AttemptEnd, "outcome" | "error" | "retryable" | "repeatable" | "rejected" | "committed" | "phase" | "upstreamStatus">

export type RequestEvent =
  | { readonly _tag: "Started" }
  /** The target has no place for the try. */
  | { readonly _tag: "Blocked"; readonly id: number; readonly unavailable: Unavailable }
  /** Its wait for a place is over; null when the settings allow no wait. */
  | { readonly _tag: "TurnCame"; readonly id: number; readonly turn: TurnOutcome | null }
  /**
   * It may not be called. `final`: no other target may be asked either. `yields`: the client gets the error of an earlier wire
   * call instead. `skip`: what the refusal says of the target.
   */
  | {
    readonly _tag: "Refused"
    readonly id: number
    readonly error: PublicError
    readonly final: boolean
    readonly yields: boolean
    readonly skip: Unavailable | null
  }
  /** It has its place, its body and every leave. */
  | { readonly _tag: "Ready"; readonly id: number }
  /** Content came that the client does not have yet. */
  | { readonly _tag: "Spoke"; readonly id: number }
  /** The commit point: content is about to go to the client. */
  | { readonly _tag: "Committed"; readonly id: number }
  /**
   * The wire call is over, and the target's health knows of it. `retryAfterMs`: when the upstream said that it is back.
   * `partialText`: of an answer that broke off and that another call may continue.
   */
  | { readonly _tag: "Ended"; readonly id: number; readonly end: End; readonly retryAfterMs: number | null; readonly partialText: string | null }
  | { readonly _tag: "DelayOver" }
  | { readonly _tag: "HedgeDue" }
  | { readonly _tag: "ClientLeft" }
  /** The client is gone, and the time to read on for the usage is over. */
  | { readonly _tag: "DrainOver" }
  | { readonly _tag: "ShutDown" }
  /** Something threw. */
  | { readonly _tag: "Defect" }

export type CutReason = "client-gone" | "shutting-down" | "hedge-lost" | "defect"

export type Intent =
  /** Take a place at the target, then what the call needs: brings Blocked, Refused or Ready. Always the last intent of a step. */
  | { readonly _tag: "Prepare"; readonly id: number; readonly index: number; readonly passesGuesses: boolean }
  /** Wait for a place: brings TurnCame. */
  | { readonly _tag: "Queue"; readonly id: number; readonly unavailable: Unavailable; readonly rounds: number }
  /** Brings DelayOver. */
  | { readonly _tag: "Delay"; readonly ms: number }
  /** Brings HedgeDue. */
  | { readonly _tag: "ArmHedge"; readonly ms: number }
  | { readonly _tag: "DisarmHedge" }
  | { readonly _tag: "StopDelay" }
  /** One wire call: brings Committed at most once, and Ended once. `attempt` counts from 1. */
  | { readonly _tag: "Call"; readonly id: number; readonly attempt: number; readonly continues: boolean }
  /** Ends a try that was not called: it leaves its line, and its place is given back. */
  | { readonly _tag: "Cancel"; readonly id: number }
  /** Ends a wire call: brings Ended at once. */
  | { readonly _tag: "Cut"; readonly id: number; readonly reason: CutReason }
  /** The client has left: its answer is read on for the usage only. Brings DrainOver unless the call ends before. */
  | { readonly _tag: "Drain"; readonly id: number }
  /** The head of a stream goes to the client. */
  | { readonly _tag: "SendHead"; readonly id: number }
  /** The next call continues the answer of this one. */
  | { readonly _tag: "KeepPartial"; readonly id: number }
  /** Outcome, tokens and cost become final. `final`: its outcome is the client's; `failed`: another try follows; `late`: it changes nothing. */
  | { readonly _tag: "Settle"; readonly id: number; readonly as: "final" | "failed" | "late" }
  /** Terminal: the whole answer. */
  | { readonly _tag: "Give"; readonly id: number }
  /** Terminal: the end of a stream, with its error if it has one. */
  | { readonly _tag: "EndStream"; readonly id: number }
  /** Terminal: one error for the whole request. */
  | { readonly _tag: "Refuse"; readonly error: PublicError }
  /** Terminal, after a defect: an error, or a cut connection when the client has already received other bytes. */
  | { readonly _tag: "Abandon" }

export type RequestTransition = readonly [state: State, intents: ReadonlyArray<Intent>]

/** The rules of a request. Constant for its life, but for the three that look at the targets at the time of an event. */
export interface WalkRules {
  /** Targets. */
  readonly size: number
  readonly isCombo: boolean
  /** No target is free: blocks that are only our guess are passed over. */
  readonly lastResort: boolean
  readonly policy: WalkPolicy
  readonly policyOf: (index: number) => WalkPolicy
  /** Wire calls. */
  readonly maxAttempts: number
  /** ms since the epoch; Infinity = none. */
  readonly deadline: number
  readonly recovery: RecoveryOptions
  /** Calls that may continue one answer. */
  readonly maxContinuations: number
  /** It may wait for a place. */
  readonly mayQueue: boolean
  /** The answer is read to its end when the client leaves. */
  readonly drains: boolean
  /** Both are the same model of the same provider. */
  readonly isSameModel: (one: number, other: number) => boolean
  /** Another account of the same provider, which would leave for the same address by no proxy: what could not be reached by one cannot be by the other. */
  readonly sharesEgress: (one: number, other: number) => boolean
  /** What blocks a target at that time; what this request's own failures began does not count. */
  readonly blocked: (index: number, at: number) => Unavailable | null
  /** What blocks a target at that time for any request. */
  readonly resting: (index: number, at: number) => Unavailable | null
  /** The settings let it wait for this target. */
  readonly mayWaitFor: (index: number, unavailable: Unavailable, rounds: number) => boolean
  /** The client's error for a target that has no place. */
  readonly errorOf: (index: number, unavailable: Unavailable, now: number) => PublicError
}
