/**
 * The breaker of one provider (supplement 5.1): pure transitions, one call in, one step out.
 *
 * Opening, closing and a reset each begin a new era. A call carries the era it entered in, and what it says afterwards counts
 * only in that era: the stragglers of an outage neither prolong it nor open the breaker again after it is over.
 */
import type { BreakerState } from "#actors/ports/Resilience.ts"

/** Failures in a row; `resetTimeoutMs` is how long an open breaker refuses, in ms. */
export interface Settings {
  readonly degradationThreshold: number
  readonly failureThreshold: number
  readonly resetTimeoutMs: number
}

export interface State {
  /** Counted failures since the last success. */
  readonly failures: number
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
}

/** `neutral`: the call says nothing about the provider (a client abort, a 4xx). */
export type Event =
  | { readonly _tag: "Enter" }
  | { readonly _tag: "Ended"; readonly ticket: Ticket; readonly result: "ok" | "failed" | "neutral"; readonly status: number }
  | { readonly _tag: "Reset" }

export type Reply =
  | { readonly _tag: "Entered"; readonly ticket: Ticket }
  | { readonly _tag: "Refused"; readonly reason: "breaker-open" | "breaker-probing"; readonly until: number }
  | { readonly _tag: "Noted" }

/** What the service does about it: keep an open breaker across a restart, or forget it. */
export type Intent = "save" | "forget"

export type Step = readonly [reply: Reply, state: State, intents: ReadonlyArray<Intent>]

export const fresh: State = { failures: 0, openUntil: null, probeSince: null, era: 0, lastFailureAt: null, lastStatus: 0 }

/** A probe that is not heard of for so long is lost, and its place is given to another (ms): every block ends (PROMISES 10). */
export const probeLeaseMs = 600_000
/** When a probe ends is not known: ask again then (ms; supplement 18.5, "without a known time"). */
export const probingRetryMs = 1_000

const none: ReadonlyArray<Intent> = []
const noted: Reply = { _tag: "Noted" }

/** Only the provider's own breakdowns count (supplement 5.1): never a 429, never another 4xx. */
export const counts = (status: number, network: boolean): boolean =>
  network || status === 408 || status === 500 || status === 502 || status === 503 || status === 504

/** Lazy recovery: an open breaker is half-open as soon as somebody looks after its time. */
export const phaseOf = (state: State, settings: Settings, now: number): BreakerState => {
  if (state.openUntil !== null) return now < state.openUntil ? "open" : "half-open"
  return state.failures >= settings.degradationThreshold ? "degraded" : "closed"
}

/** Why a call may not enter now; null when it may. Takes nothing. */
export const refusalOf = (state: State, now: number): Extract<Reply, { readonly _tag: "Refused" }> | null => {
  if (state.openUntil === null) return null
  if (now < state.openUntil) return { _tag: "Refused", reason: "breaker-open", until: state.openUntil }
  if (state.probeSince === null || now - state.probeSince >= probeLeaseMs) return null
  return { _tag: "Refused", reason: "breaker-probing", until: now + probingRetryMs }
}

const closedAgain = (state: State): State => ({ ...fresh, era: state.era + 1, lastFailureAt: state.lastFailureAt, lastStatus: state.lastStatus })

const opened = (state: State, settings: Settings, status: number, now: number): State => ({
  failures: state.failures + 1,
  openUntil: now + settings.resetTimeoutMs,
  probeSince: null,
  era: state.era + 1,
  lastFailureAt: now,
  lastStatus: status
})

const enter = (state: State, now: number): Step => {
  if (state.openUntil === null) return [{ _tag: "Entered", ticket: { era: state.era, probe: false } }, state, none]
  const refusal = refusalOf(state, now)
  if (refusal !== null) return [refusal, state, none]
  // A lost probe's late word must not decide for its successor.
  const era = state.probeSince === null ? state.era : state.era + 1
  return [{ _tag: "Entered", ticket: { era, probe: true } }, { ...state, era, probeSince: now }, none]
}

const ended = (state: State, event: Extract<Event, { readonly _tag: "Ended" }>, settings: Settings, now: number): Step => {
  const { result, status, ticket } = event
  if (ticket.era !== state.era) return [noted, state, none]
  if (ticket.probe) {
    if (state.probeSince === null) return [noted, state, none]
    if (result === "ok") return [noted, closedAgain(state), ["forget"]]
    if (result === "failed") return [noted, opened(state, settings, status, now), ["save"]]
    return [noted, { ...state, probeSince: null }, none]
  }
  // Without a probe's ticket only a closed breaker listens.
  if (state.openUntil !== null || result === "neutral") return [noted, state, none]
  if (result === "ok") return [noted, state.failures === 0 ? state : { ...state, failures: 0 }, none]
  if (state.failures + 1 >= settings.failureThreshold) return [noted, opened(state, settings, status, now), ["save"]]
  return [noted, { ...state, failures: state.failures + 1, lastFailureAt: now, lastStatus: status }, none]
}

export const step = (state: State, event: Event, settings: Settings, now: number): Step => {
  switch (event._tag) {
    case "Enter":
      return enter(state, now)
    case "Ended":
      return ended(state, event, settings, now)
    case "Reset":
      return [noted, closedAgain(state), ["forget"]]
  }
}
