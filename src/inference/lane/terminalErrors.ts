/**
 * The error of a request whose targets all failed or were skipped: which were asked, when to try again, and what to do
 * instead. Pure.
 */
import { hasVendorWords, PublicError } from "#schemas/errors.ts"
import { Blocked, diagnosticsOf } from "#src/routing/unavailable.ts"
import * as StatusReason from "#schemas/statusReason.ts"

/** The flags that shape it, as they stand. */
export interface TerminalRules {
  /** PROTECTED_PRIORITY_INFRA_502_ENABLED: a combo's failure whose cause is no quota is a 502. */
  readonly infra502: boolean
  /** RETRY_AFTER_PROVENANCE_ENABLED: no Retry-After without a concrete time, and the body says whether there was one. */
  readonly provenance: boolean
}

export const noRules: TerminalRules = { infra502: false, provenance: false }

/** Retry-After when no wait is known, s. */
const syntheticWait = 1
/** Longest wait and text of a recovery hint. */
const maxHintSeconds = 3_600
const maxNextStep = 200
/** A wait that is no longer is better than another model, s. */
const shortWait = 60

/** Whether automatic routing has a free target that was not asked in vain; looked up only where it decides. */
export type Elsewhere = () => boolean

/** What happened to the targets of a combo. */
export interface TriedPool {
  readonly poolSize: number
  readonly attempted: number
  readonly excluded: ReadonlyArray<{ readonly provider: string; readonly model: string; readonly reason: string }>
  readonly attemptOrder: ReadonlyArray<{ readonly model: string; readonly status: number; readonly code: string | null }>
}

const quotaCodes: ReadonlySet<string> = new Set(["insufficient_quota", "payment_required", "model_cooldown", "rate_limit_exceeded"])

const quotaReasons: ReadonlySet<StatusReason.StatusReason> = new Set(["rate-limit", "payment"])
/** Waiting helps, and the reply says for how long. */
const limitedReasons: ReadonlySet<StatusReason.StatusReason> = new Set(["rate-limit", "unavailable"])

/** The upstream's limits are the cause, not its state. */
const isQuota = (error: PublicError, excluded: ReadonlyArray<string>): boolean =>
  quotaReasons.has(error.reason) || quotaCodes.has(error.code) || excluded.includes("quota-exhausted")

/** `1h 2m 5s`, without the units that are zero. */
export const durationText = (seconds: number): string => {
  const parts = [[Math.floor(seconds / 3_600), "h"], [Math.floor(seconds / 60) % 60, "m"], [seconds % 60, "s"]] as const
  return parts.filter(([count]) => count > 0).map(([count, unit]) => `${count}${unit}`).join(" ")
}

/** An aggregated reply; `seconds`: the earliest time that any target named, null when none did. */
const aggregated = (error: PublicError, seconds: number | null, status: number, extra: PublicError["extra"], rules: TerminalRules): PublicError => {
  const limited = limitedReasons.has(StatusReason.of(status))
  const reset = seconds === null ? null : durationText(seconds)
  // Clients match a vendor's wording: beside it stands what is added to a message of our own.
  const vendors = hasVendorWords(error)
  const message = reset === null || vendors ? error.message : `${error.message} (reset after ${reset})`
  return new PublicError(error.code, status, error.type, message, seconds ?? (limited && !rules.provenance ? syntheticWait : null), {
    ...extra,
    ...(reset !== null && vendors ? { reset_after: reset } : {}),
    ...(limited && rules.provenance ? { retry_after_provenance: seconds === null ? "none" : "signal" } : {})
  }, error.upstream)
}

/** Nothing passes by itself: the upstreams refused, or an operator has to act. */
const isLasting = ({ reason, retry }: PublicError, attempted: number): boolean => attempted === 0 || (retry === "never" && reason !== "request-timeout")

/**
 * What a client should do: wait when the wait is short; repeat a failure that is temporary and has no known end; else ask
 * automatic routing if it has other targets; else wait up to an hour, or ask for another model.
 */
const hintOf = (seconds: number | null, lasting: boolean, elsewhere: Elsewhere) => {
  const hint = (action: "try-auto" | "wait" | "retry" | "switch-combo", next_step: string) =>
    ({ action, retry_after_seconds: seconds === null ? null : Math.min(maxHintSeconds, seconds), next_step })
  const wait = () => hint("wait", `Repeat the request in ${seconds} s.`)
  if (seconds !== null && seconds <= shortWait) return wait()
  if (seconds === null && !lasting) return hint("retry", "Repeat the request, or ask for another model.")
  if (elsewhere()) return hint("try-auto", "Ask for the model 'auto': automatic routing has other targets that are free.")
  return seconds !== null && seconds <= maxHintSeconds
    ? wait()
    : hint("switch-combo", "Ask for another model, or look at GET /api/combos and GET /api/resilience.")
}

/** A combo that was asked in vain. */
export const ofCombo = (error: PublicError, pool: TriedPool, rules: TerminalRules, elsewhere: Elsewhere): PublicError => {
  const seconds = error.retryAfterSeconds
  const quota = isQuota(error, pool.excluded.map(({ reason }) => reason))
  return aggregated(error, seconds, statusOf(error, quota, rules), {
    ...error.extra,
    diagnostics: { ...pool, terminalReason: pool.attempted === 0 ? "no_target_available" : "all_targets_failed" },
    recovery_hint: hintOf(seconds, isLasting(error, pool.attempted), elsewhere)
  }, rules)
}

const statusOf = (error: PublicError, quota: boolean, rules: TerminalRules): number =>
  rules.infra502 && StatusReason.isServers(error.status) && !quota ? 502 : error.status

/** A plan without a callable target, and what may be waited for in it. Any other refusal is not final. */
export const ofPlan = (error: PublicError, rules: TerminalRules, elsewhere: Elsewhere): PublicError => {
  // A provider in cooldown says nothing about the others; a too long prompt is for the client to shorten.
  if (!(error instanceof Blocked) || error.code === "provider_circuit_open" || error.code === "context_length_exceeded") return error
  const { combo, pool, skipped } = error
  const quota = isQuota(error, skipped.map(({ unavailable }) => unavailable.reason))
  const isKnown = skipped.some(({ unavailable }) => unavailable.until !== null)
  const seconds = isKnown ? error.retryAfterSeconds : null
  if (!combo) return new Blocked(aggregated(error, seconds, error.status, error.extra, rules), pool)
  const extra = {
    ...error.extra,
    diagnostics: diagnosticsOf(pool),
    recovery_hint: hintOf(seconds, !skipped.some(({ unavailable: { reason } }) => reason === "connection-busy" || reason === "model-busy"), elsewhere)
  }
  return new Blocked(aggregated(error, seconds, statusOf(error, quota, rules), extra, rules), pool)
}

/** Without what a combo says of its targets: the request itself is at fault, and none of them. */
export const bare = ({ code, extra, message, retryAfterSeconds, status, type, upstream }: PublicError): PublicError => {
  const { diagnostics: _, recovery_hint: __, ...rest } = extra ?? {}
  return new PublicError(code, status, type, message, retryAfterSeconds, Object.keys(rest).length === 0 ? null : rest, upstream)
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null

/** Text that a header may carry. */
const plain = (text: string): string => text.replace(/[^\x20-\x7e]/g, "?").slice(0, maxNextStep)

/** The same in headers, for clients that do not read bodies of errors; flat, empty for any other error. */
export const headersOf = (error: PublicError): ReadonlyArray<string> => {
  const { extra } = error
  if (extra === null || (error instanceof Blocked && !error.combo) || !isRecord(extra["diagnostics"])) return []
  const headers: Array<string> = []
  const add = (name: string, value: unknown): void => {
    if (typeof value === "string" || typeof value === "number") headers.push(name, plain(String(value)))
  }
  const { attempted, excluded, poolSize, terminalReason } = extra["diagnostics"]
  add("x-gateway-combo-pool-size", poolSize)
  add("x-gateway-combo-attempted", attempted)
  add("x-gateway-combo-excluded", Array.isArray(excluded) ? excluded.length : null)
  add("x-gateway-combo-terminal-reason", terminalReason)
  const hint = extra["recovery_hint"]
  if (isRecord(hint)) {
    add("x-gateway-recovery-action", hint["action"])
    add("x-gateway-recovery-next-step", hint["next_step"])
    add("x-gateway-retry-after-seconds", hint["retry_after_seconds"])
  }
  return headers
}
