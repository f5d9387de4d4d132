/**
 * The breaker of one provider: pure transitions, one call in, one step out.
 *
 * A failure belongs to its model first: a breaker that only one model's failures opened refuses that model alone, until others fail
 * as often. Opening, closing and a reset each begin a new era. A call carries the era it entered in, and what it says afterwards
 * counts only in that era: the stragglers of an outage neither prolong it nor open the breaker again after it is over.
 */
import type { BreakerState } from "#actors/request/ports/Resilience.ts"
import { maxHintMs } from "./retryHint.ts"
import * as StatusReason from "#schemas/statusReason.ts"

/** Failures in a row; `resetTimeoutMs` is how long an open breaker refuses, in ms. */
export interface BreakerRules {
  readonly degradationThreshold: number
  readonly failureThreshold: number
  readonly resetTimeoutMs: number
}

export interface State {
  /** Counted failures since the last success. */
  readonly failures: number
  /** The one model that all of them were of; null when there are several, or none. */
  readonly only: string | null
  /** Counted failures of other models since it opened for one, and since their last success. */
  readonly others: number
  /** Refuses until then, half-open afterwards (ms since the epoch); null = closed. */
  readonly openUntil: number | null
  /** When the running probe entered (ms since the epoch); null = none. */
  readonly probeSince: number | null
  readonly era: number
  /** ms since the epoch; null = never. */
  readonly lastFailureAt: number | null
  /** Status of the last counted failure; 0 = the network's. */
  readonly lastStatus: number
}

/** What a call that entered holds until it ends. */
export interface Ticket {
  readonly era: number
  readonly probe: boolean
  readonly model: string
}

/** `neutral`: the call says nothing about the provider (a client abort, a 4xx). `holdMs`: how long the upstream itself said that it refuses. */
export type BreakerEvent =
  | { readonly _tag: "Enter"; readonly model: string }
  | { readonly _tag: "Ended"; readonly ticket: Ticket; readonly result: "ok" | "failed" | "neutral"; readonly status: number; readonly holdMs?: number }
  | { readonly _tag: "Reset" }

type Ended = Extract<BreakerEvent, { readonly _tag: "Ended" }>

export type BreakerReply =
  | { readonly _tag: "Entered"; readonly ticket: Ticket }
  | { readonly _tag: "Refused"; readonly reason: "breaker-open" | "breaker-probing"; readonly until: number }
  | { readonly _tag: "Noted" }

/** What the service does about it: keep an open breaker across a restart, or forget it. */
export type BreakerIntent = "save" | "forget"

export type BreakerStep = readonly [reply: BreakerReply, state: State, intents: ReadonlyArray<BreakerIntent>]

export const fresh: State = { failures: 0, only: null, others: 0, openUntil: null, probeSince: null, era: 0, lastFailureAt: null, lastStatus: 0 }

/** A probe without a result for this long counts as lost and another may start, so that no breaker stays open forever (ms). */
export const probeLeaseMs = 600_000
/** Retry hint while a probe runs: its end is not known (ms). */
const probingRetryMs = 1_000

const none: ReadonlyArray<BreakerIntent> = []
const noted: BreakerReply = { _tag: "Noted" }

const breakdowns: ReadonlySet<StatusReason.StatusReason> = new Set(["request-timeout", "failed", "bad-gateway", "unavailable", "gateway-timeout"])

/** Only the provider's own breakdowns count: no 4xx, and a 429 where its setting says so only. */
export const counts = (status: number, network: boolean): boolean =>
  network || breakdowns.has(StatusReason.of(status))

/** Lazy recovery: an open breaker is half-open at the first look after its time. */
export const phaseOf = (state: State, settings: BreakerRules, now: number): BreakerState => {
  if (state.openUntil !== null) return now < state.openUntil ? "open" : "half-open"
  return degraded(state.failures, settings)
}

/** What one model has of it: a breaker that is open for another model is none of its business. */
export const phaseFor = (state: State, model: string, settings: BreakerRules, now: number): BreakerState =>
  spares(state, model) ? degraded(state.others, settings) : phaseOf(state, settings, now)

const degraded = (failures: number, settings: BreakerRules): BreakerState => failures >= settings.degradationThreshold ? "degraded" : "closed"

/** It is open for another model. */
const spares = (state: State, model: string): boolean => state.openUntil !== null && state.only !== null && state.only !== model

/** Why a call may not enter now; null when it may. Takes nothing. */
export const refusalOf = (state: State, model: string, now: number): Extract<BreakerReply, { readonly _tag: "Refused" }> | null => {
  if (state.openUntil === null || spares(state, model)) return null
  if (now < state.openUntil) return { _tag: "Refused", reason: "breaker-open", until: state.openUntil }
  if (state.probeSince === null || now - state.probeSince >= probeLeaseMs) return null
  return { _tag: "Refused", reason: "breaker-probing", until: now + probingRetryMs }
}

/** The same breaker by a clock that was set back by `ms`. */
export const earlier = (state: State, ms: number): State => ({
  ...state,
  openUntil: state.openUntil === null ? null : state.openUntil - ms,
  probeSince: state.probeSince === null ? null : state.probeSince - ms,
  lastFailureAt: state.lastFailureAt === null ? null : state.lastFailureAt - ms
})

const closedAgain = (state: State): State => ({ ...fresh, era: state.era + 1, lastFailureAt: state.lastFailureAt, lastStatus: state.lastStatus })

const opened = (state: State, only: string | null, settings: BreakerRules, { holdMs = 0, status }: Pick<Ended, "holdMs" | "status">, now: number): State => ({
  failures: state.failures + 1,
  only,
  others: 0,
  openUntil: now + Math.max(settings.resetTimeoutMs, Math.min(holdMs, maxHintMs)),
  probeSince: null,
  era: state.era + 1,
  lastFailureAt: now,
  lastStatus: status
})

/** For a call that the breaker does not stop: it probes nothing. */
export const ticketOf = (state: State, model: string): Ticket => ({ era: state.era, probe: false, model })

const enter = (state: State, model: string, now: number): BreakerStep => {
  if (state.openUntil === null || spares(state, model)) return [{ _tag: "Entered", ticket: ticketOf(state, model) }, state, none]
  const refusal = refusalOf(state, model, now)
  if (refusal !== null) return [refusal, state, none]
  // A lost probe's late word must not decide for its successor.
  const era = state.probeSince === null ? state.era : state.era + 1
  return [{ _tag: "Entered", ticket: { era, probe: true, model } }, { ...state, era, probeSince: now }, none]
}

const ended = (state: State, event: Ended, settings: BreakerRules, now: number): BreakerStep => {
  const { result, status, ticket } = event
  if (ticket.era !== state.era) return [noted, state, none]
  if (ticket.probe) {
    if (state.probeSince === null) return [noted, state, none]
    if (result === "ok") return [noted, closedAgain(state), ["forget"]]
    if (result === "failed") return [noted, opened(state, state.only, settings, event, now), ["save"]]
    return [noted, { ...state, probeSince: null }, none]
  }
  if (result === "neutral") return [noted, state, none]
  if (state.openUntil !== null) return beside(state, event, settings, now)
  if (result === "ok") return [noted, state.failures === 0 ? state : { ...state, failures: 0, only: null }, none]
  const only = state.failures === 0 || state.only === ticket.model ? ticket.model : null
  if (state.failures + 1 >= settings.failureThreshold) return [noted, opened(state, only, settings, event, now), ["save"]]
  return [noted, { ...state, failures: state.failures + 1, only, lastFailureAt: now, lastStatus: status }, none]
}

/** A call that entered beside an open breaker: of another model, or of a request that had failed here itself. */
const beside = (state: State, event: Ended, settings: BreakerRules, now: number): BreakerStep => {
  const { result, status, ticket } = event
  if (state.only === null) return result === "ok" ? [noted, closedAgain(state), ["forget"]] : [noted, state, none]
  if (ticket.model === state.only) return [noted, state, none]
  if (result === "ok") return [noted, state.others === 0 ? state : { ...state, others: 0 }, none]
  if (state.others + 1 >= settings.failureThreshold) return [noted, opened(state, null, settings, event, now), ["save"]]
  return [noted, { ...state, others: state.others + 1, lastFailureAt: now, lastStatus: status }, none]
}

/** What one event makes of a provider's breaker. */
export const step = (state: State, event: BreakerEvent, settings: BreakerRules, now: number): BreakerStep => {
  switch (event._tag) {
    case "Enter":
      return enter(state, event.model, now)
    case "Ended":
      return ended(state, event, settings, now)
    case "Reset":
      return [noted, closedAgain(state), ["forget"]]
  }
}
