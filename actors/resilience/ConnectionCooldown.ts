/**
 * The cooldown of one connection, of one of its models, or of a whole provider: how long it is not used after a failure. Pure transitions.
 *
 * A failure belongs to its model first; `isWide` says which ones are the connection's as a whole. A running cooldown is never
 * shortened or restarted by another failure of the same burst; only a longer hint of the upstream extends it. A success ends the
 * memory of it once its time has passed, and a guess at once when its call was let in while the guess held.
 */
import { maxHintMs } from "./retryHint.ts"
import type { Verdict } from "#actors/request/ports/Resilience.ts"
import * as StatusReason from "#schemas/statusReason.ts"

export interface CooldownRules {
  /** First pause after a server error or lack of capacity, ms. */
  readonly transientBaseMs: number
  /** First pause after a rate limit without a hint, ms; 0 = only hints pause. */
  readonly rateLimitBaseMs: number
  /** Largest exponent of 2. */
  readonly maxBackoffLevel: number
  readonly useHints: boolean
  /** Longest pause of our own guess, ms; absent = that of hints. */
  readonly longestMs?: number
}

export type CooldownReason = "rate_limit_exceeded" | "quota_exhausted" | "model_capacity" | "server_error" | "auth_error" | "unknown"

export interface State {
  /** ms since the epoch; 0 = never cooled. */
  readonly until: number
  /** Exponent of the next pause. */
  readonly level: number
  readonly reason: CooldownReason
  /** Status of the failure that began it; 0 = the network's. */
  readonly status: number
  /** True when the pause is our own guess and not the upstream's word: a last resort may pass it over. */
  readonly guessed: boolean
}

/**
 * What a failure asks for: a pause of its own length, or one that doubles from a base. The first may be our guess all the same
 * (`guessed`), or as good as a hint, so that it makes a running cooldown longer (`exact`).
 */
export type CooldownRule =
  | { readonly reason: CooldownReason; readonly pause: "fixed"; readonly ms: number; readonly guessed?: true; readonly exact?: true }
  | { readonly reason: CooldownReason; readonly pause: "transient" | "rate-limit" | "general" }

export type CooldownEvent =
  | { readonly _tag: "Failed"; readonly rule: CooldownRule; readonly hintMs: number | null; readonly status: number }
  /** `letIn`: the call began while this very cooldown ran. */
  | { readonly _tag: "Succeeded"; readonly letIn: boolean }
  /** The stored record says otherwise: an operator or another node changed it. */
  | { readonly _tag: "Told"; readonly until: number; readonly level: number }
  /** Another node's calls began it, or extended it. */
  | ({ readonly _tag: "Heard" } & State)
  /** Another node's call was answered. */
  | { readonly _tag: "HeardWell" }

/** `save`: the record of the connection should say what the state says. */
export type CooldownIntent = "save"

/** The reply is the pause that the event began or extended, ms; 0 = none. */
export type CooldownStep = readonly [pauseMs: number, state: State, intents: ReadonlyArray<CooldownIntent>]

export const idle: State = { until: 0, level: 0, reason: "unknown", status: 0, guessed: false }

const general = { baseMs: 1_000, capMs: 120_000, maxLevel: 15 }

const none: ReadonlyArray<CooldownIntent> = []
const save: ReadonlyArray<CooldownIntent> = ["save"]

const backoff = (reason: CooldownReason, pause: "transient" | "rate-limit" | "general"): CooldownRule => ({ reason, pause })
const fixed = (reason: CooldownReason, ms: number): CooldownRule => ({ reason, pause: "fixed", ms })

const texts: ReadonlyArray<readonly [pattern: RegExp, rule: CooldownRule]> = [
  [/no credentials/i, fixed("auth_error", 120_000)],
  [/request not allowed/i, fixed("unknown", 5_000)],
  [/improperly formed request/i, fixed("unknown", 0)],
  [/rate limit|too many requests/i, backoff("rate_limit_exceeded", "rate-limit")],
  [/quota exceeded|quota will reset|exhausted/i, backoff("quota_exhausted", "rate-limit")],
  [/capacity|overloaded/i, backoff("model_capacity", "transient")]
]

/** Characters of an upstream's message that are searched. */
const longestText = 2_000

const ofStatus = (status: number, network: boolean): CooldownRule | null => {
  switch (StatusReason.of(status)) {
    case "credential":
      return fixed("auth_error", 0)
    case "payment":
    case "forbidden":
      return fixed("quota_exhausted", 0)
    case "rate-limit":
      return backoff("rate_limit_exceeded", "rate-limit")
    case "not-acceptable":
    case "request-timeout":
    case "failed":
    case "bad-gateway":
    case "unavailable":
    case "gateway-timeout":
      return backoff("server_error", "transient")
  }
  if (network) return backoff("server_error", "transient")
  return StatusReason.isServers(status) ? backoff("unknown", "general") : null
}

/**
 * The rule for a failed call, text before status; null when it says nothing about the connection.
 *
 * Of 400, 404, 413 and 422 nothing is read: they are about the request, and their text quotes it, so that a client could put a
 * shared connection into cooldown with a well-chosen parameter. What a 404 means for its model is the lockout's business.
 */
export const ruleOf = (verdict: Pick<Verdict, "status" | "network" | "message">): CooldownRule | null => {
  const { message, network, status } = verdict
  if (StatusReason.isRequests(status) || StatusReason.of(status) === "not-found") return null
  const text = message.length > longestText ? message.slice(0, longestText) : message
  for (const [pattern, rule] of texts) if (pattern.test(text)) return rule
  return ofStatus(status, network)
}

/** The failure is about the credential, whatever the model: its sign-in, its quota, or a limit that the upstream calls the account's. */
export const isWide = (rule: CooldownRule, verdict: Pick<Verdict, "accountWide">): boolean =>
  verdict.accountWide || rule.reason === "auth_error" || rule.reason === "quota_exhausted"

const backoffMs = (rule: Exclude<CooldownRule, { readonly pause: "fixed" }>, level: number, settings: CooldownRules): number => {
  // An operator that switched the guess off for server errors also means unusual ones.
  if (rule.pause === "general") return settings.transientBaseMs === 0 ? 0 : Math.min(general.baseMs * 2 ** Math.min(level, general.maxLevel), general.capMs)
  const base = rule.pause === "transient" ? settings.transientBaseMs : settings.rateLimitBaseMs
  return Math.min(base * 2 ** Math.min(level, settings.maxBackoffLevel), settings.longestMs ?? maxHintMs)
}

const failed = (state: State, event: Extract<CooldownEvent, { readonly _tag: "Failed" }>, settings: CooldownRules, now: number): CooldownStep => {
  const { hintMs, rule, status } = event
  const hinted = rule.pause !== "fixed" && settings.useHints && hintMs !== null
  const pause = rule.pause === "fixed" ? rule.ms : hinted ? Math.min(Math.max(hintMs, 0), maxHintMs) : backoffMs(rule, state.level, settings)
  const until = now + pause
  if (pause <= 0 || until <= state.until) return [0, state, none]
  const running = now < state.until
  if (running && !hinted && !(rule.pause === "fixed" && rule.exact === true)) return [0, state, none]
  // A hint and a fixed pause are not guesses: they say nothing about how long to guess next time.
  const grows = !running && !hinted && rule.pause !== "fixed"
  const most = rule.pause === "general" ? general.maxLevel : settings.maxBackoffLevel
  const level = grows ? Math.max(state.level, Math.min(state.level + 1, most)) : state.level
  return [pause, { until, level, reason: rule.reason, status, guessed: grows || (rule.pause === "fixed" && rule.guessed === true) }, save]
}

/** The same pause by a clock that was set back by `ms`. */
export const earlier = (state: State, ms: number): State => state.until === 0 ? state : { ...state, until: Math.max(1, state.until - ms) }

/** What one event makes of a connection's cooldown. */
export const step = (state: State, event: CooldownEvent, settings: CooldownRules, now: number): CooldownStep => {
  switch (event._tag) {
    case "Failed":
      return failed(state, event, settings, now)
    case "Succeeded":
      // The answer of a call that began before the failure does not take back what the upstream said since.
      return (now < state.until && !(event.letIn && state.guessed)) || (state.until === 0 && state.level === 0) ? [0, state, none] : [0, idle, save]
    case "Heard":
      return now < state.until && event.until <= state.until
        ? [0, state, none]
        : [event.until - now, { until: event.until, level: event.level, reason: event.reason, status: event.status, guessed: event.guessed }, none]
    case "HeardWell":
      return now < state.until ? [0, state, none] : [0, idle, none]
    case "Told":
      return [0, event.until === 0 && event.level === 0 ? idle : { ...idle, until: event.until, level: event.level }, none]
  }
}
