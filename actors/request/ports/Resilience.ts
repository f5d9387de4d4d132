/**
 * The three independent mechanisms against temporary failure: the breaker of a provider, the cooldown of a connection or of a model on
 * it, and the lockout of a model on a connection. Decisions read local memory and never wait.
 */
import * as Context from "effect/Context"
import type { OwnFailures } from "#actors/request/OwnFailures.ts"
import type { Target } from "./Target.ts"

export type BreakerState = "closed" | "degraded" | "open" | "half-open"

/** Why a target is skipped, and until when (ms since the epoch; null = until an operator acts). */
export interface Unavailable {
  readonly reason: "breaker-open" | "breaker-probing" | "connection-cooldown" | "model-cooldown" | "model-lockout" | "connection-busy" | "model-busy" | "quota-exhausted" | "limit" | "proxy-aside" | "inactive"
  readonly until: number | null
  /** For people: what happened last, without secrets. */
  readonly detail: string
  /** True when the block is our own guess and not the upstream's word: with `passesGuesses` it may be passed over. */
  readonly soft?: boolean
}

/** The end of a busy place is unknown; an inactive connection stays so until an operator acts. */
const endOf = ({ reason, until }: Unavailable): number => until ?? (reason === "inactive" ? Number.POSITIVE_INFINITY : 0)

/** Of what blocks one target, the block that decides: a hard block before a guess, and of two of one kind the one that ends later. */
export const stricter = (one: Unavailable | null, other: Unavailable | null): Unavailable | null => {
  if (one === null || other === null) return one ?? other
  const soft = one.soft === true
  if (soft !== (other.soft === true)) return soft ? other : one
  return endOf(other) > endOf(one) ? other : one
}

/** How an attempt ended, as far as the upstream's health is concerned. A client abort is never reported. */
export interface Verdict {
  readonly ok: boolean
  /** HTTP status of the upstream; 0 when it never answered. */
  readonly status: number
  /** The failure was the network's or a timeout. */
  readonly network: boolean
  /** Message of the upstream's error: phrases such as "rate limit" or "overloaded" decide before the status. */
  readonly message: string
  /** Parsed retry hint, ms from now; null when the upstream gave none. */
  readonly retryAfterMs: number | null
  /** The upstream says that its refusal holds for the account, not for the model. */
  readonly accountWide: boolean
  /** A 401 that does not say what is wrong with the credential. */
  readonly unclear?: boolean
  /** ms from dispatch to the first content; null when there was none. */
  readonly ttftMs: number | null
  readonly latencyMs: number
}

/** One place in use at a target: given back exactly once, with what was learned. */
export interface Pass {
  /** Longest that this call may take, ms (requestQueue.executionMaxWaitMs); 0 or absent = no limit of this kind. */
  readonly executionMs?: number
  /** First content came: a probe is decided by it and does not hold others back for as long as its stream lasts. */
  readonly answered: (now: number) => void
  /** Null when the attempt says nothing about the target (client abort, our own refusal). A failure is noted in `ownFailures`. */
  readonly release: (verdict: Verdict | null, now: number, ownFailures?: OwnFailures | null) => void
}

/** What strategies and the health views may know of a target; plain numbers, read at once. */
export interface TargetHealth {
  readonly breaker: BreakerState
  readonly failures: number
  readonly inFlight: number
  /** Completed calls since start. */
  readonly uses: number
  readonly lastUsedAt: number
  /** Moving p95 of the latency of successful calls, ms; null without data. */
  readonly latencyP95Ms: number | null
  readonly ttftP50Ms: number | null
  /** Failed share of the last calls, 0 to 1; null without data. */
  readonly errorRate: number | null
}

export class Resilience extends Context.Service<Resilience, {
  /** Whether a target may be called now, without taking anything. What `ownFailures` began does not count. */
  readonly check: (target: Target, now: number, ownFailures?: OwnFailures | null) => Unavailable | null
  /**
   * Takes a place: the probe of a half-open breaker, a slot of a limited connection. An `Unavailable` says why not. With
   * `passesGuesses` (no other target is left, or the request repeats its own call) a soft block is passed over.
   */
  readonly enter: (target: Target, now: number, passesGuesses?: boolean, ownFailures?: OwnFailures | null) => Pass | Unavailable
  /** A call that had a place is settled and used so many tokens, input and output. */
  readonly spent: (target: Target, tokens: number, now: number) => void
  readonly health: (target: Target, now: number) => TargetHealth
}>()("gateway/ports/Resilience") {}
