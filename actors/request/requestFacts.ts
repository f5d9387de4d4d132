/** What one request leaves behind, as values: what its attempts used, the summary for telemetry. Pure. */
import type { AttemptEnd } from "#actors/request/steps/attemptValues.ts"
import type { Inbound } from "./Inbound.ts"
import type { Accounting } from "#actors/request/ports/Accounting.ts"
import type { Usage } from "#actors/request/ports/Face.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { RequestSummary } from "#actors/request/ports/Telemetry.ts"
import type { Timeouts } from "#actors/request/ports/Upstream.ts"
import type { WalkPolicy } from "#actors/request/ports/WalkPolicy.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { LedgerRow, Outcome } from "#schemas/records/LedgerRow.ts"
import * as Units from "#schemas/records/Units.ts"

/** Error code of the rows of a client that has gone. */
export type GoneCode = "client_closed_request" | "slow_reader_timeout"

/** Whole ms between two readings of the clock: V8 keeps each number that may have a fraction as an object of its own. */
export const elapsed = (from: number, to: number): number => Math.round(to - from)

/** The model did work for this attempt, so it has tokens even when the upstream counted none. */
const ranModel = (end: AttemptEnd): boolean => end.usage !== null || end.committed || end.answer !== null || end.rejected

const noUsage: Usage = { input: 0, output: 0, cacheRead: 0, cacheCreation: 0, reasoning: 0 }

/**
 * The call was cut while its upstream was at work, because the client left, another call of a hedge answered or the gateway stops: the
 * request was read, and is paid for.
 */
const wasCut = (end: AttemptEnd, outcome: Outcome): boolean => end.opened && (outcome === "client-abort" || (outcome === "policy" && end.sentAt !== null))

/**
 * Tokens are estimated: the model worked, and its upstream did not count, or only what went in. What a call that was cut had read is
 * estimated, too, or a client that never waits would never pay.
 */
const isEstimated = (end: AttemptEnd, outcome: Outcome, counted: Usage | null): boolean =>
  counted === null ? ranModel(end) || wasCut(end, outcome) : end.usageIsPartial || isUncounted(end, counted)

/** No call has as many tokens. An upstream that says more has taken one from none in an unsigned number, or made it up. */
const mostTokens = 1_000_000_000

const isPossible = (count: number): boolean => count >= 0 && count <= mostTokens

const possible = (count: number): number => isPossible(count) ? count : 0

/** What the upstream counted; null without any token in it: servers that do not count give zeros rather than nothing. */
const countOf = ({ usage }: AttemptEnd): Usage | null => {
  if (usage === null) return null
  const { cacheCreation, cacheRead, input, output, reasoning } = usage
  if (input === 0 && output === 0 && cacheRead === 0 && cacheCreation === 0) return null
  if (isPossible(input) && isPossible(output) && isPossible(cacheRead) && isPossible(cacheCreation) && isPossible(reasoning)) return usage
  const counted = { ...usage, input: possible(input), output: possible(output), cacheRead: possible(cacheRead), cacheCreation: possible(cacheCreation), reasoning: possible(reasoning) }
  return counted.input === 0 && counted.output === 0 ? null : counted
}

/** No token is longer, characters. */
const longestToken = 64

/** It counted no prompt, or no output though there is some; some servers give 1 where they did not count. */
const isUncounted = (end: AttemptEnd, counted: Usage): boolean => {
  if (!ranModel(end) || (counted.input > 0 && counted.output > 1)) return false
  const { length } = end.outputText()
  return length > 0 && (counted.input === 0 || counted.output === 0 || length > longestToken)
}

export interface Counted {
  readonly usage: Usage
  /** A part of it is the gateway's estimate. */
  readonly estimated: boolean
}

/** Tokens of an attempt: what its upstream counted, and an estimate of what it did not. */
export const usageOf = (end: AttemptEnd, outcome: Outcome, inbound: Inbound, accounting: Accounting["Service"]): Counted => {
  if (inbound.tokenless === true) return { usage: noUsage, estimated: false }
  // The client was given this count, and nothing was counted after it.
  if (end.estimate !== undefined && end.estimate !== null && countOf(end) === null) return { usage: end.estimate, estimated: true }
  const counted = countOf(end)
  if (!isEstimated(end, outcome, counted)) return { usage: counted ?? noUsage, estimated: false }
  const usage = counted ?? noUsage
  return {
    usage: {
      ...usage,
      input: usage.input === 0 ? accounting.estimate(inbound.promptText()) : usage.input,
      output: Math.max(usage.output, accounting.estimate(end.outputText()))
    },
    estimated: true
  }
}

/**
 * What an attempt used beside tokens: what its answer says, or what was expected of a model that worked. As with tokens, a call that was
 * cut before its answer began is paid for.
 */
export const unitsOf = (end: AttemptEnd, outcome: Outcome, inbound: Pick<Inbound, "units" | "tokenless">, { price }: Pick<Target, "price">): Units.Units | null => {
  if (inbound.tokenless === true || !(ranModel(end) || wasCut(end, outcome))) return null
  return Units.withRequest(end.units === null ? inbound.units : Units.possible(end.units), price)
}

/** `row`: of the newest attempt; null when none was made. `bytesOut`: of bodies, given to the client; the others as `History.summary` has them. */
export const summaryOf = (
  inbound: Inbound, row: LedgerRow | null, bytesOut: number,
  refusal: PublicError | null, attempts: number, startedAt: number, now: number, headSent: boolean, goneCode: GoneCode | null
): RequestSummary => {
  const answered = row !== null && row.outcome === "completed"
  // The client left: during its call, or (then its last call says something else) between two calls.
  const left = goneCode !== null && !answered
  return {
    requestId: inbound.requestId,
    method: "POST",
    endpoint: inbound.endpoint,
    requestedModel: inbound.requestedModel,
    provider: row === null ? null : row.provider,
    model: row === null ? null : row.model,
    apiKeyId: inbound.key === null ? null : inbound.key.id,
    status: left ? 499 : row !== null ? row.status : refusal !== null ? refusal.status : 500,
    clientStatus: headSent ? 200 : left ? 0 : row !== null && row.clientStatus !== 0 ? row.clientStatus : refusal !== null ? refusal.status : 500,
    outcome: left ? "client-abort" : row === null ? "policy" : row.outcome,
    errorCode: left ? goneCode : row !== null ? row.errorCode : refusal !== null ? refusal.code : "internal_server_error",
    stream: inbound.stream,
    attempts,
    cache: inbound.cache ?? "off",
    startedAt,
    latencyMs: elapsed(startedAt, now),
    ttftMs: row === null || row.ttftMs === null ? null : row.ttftMs + elapsed(startedAt, row.startedAt),
    bytesOut
  }
}

/** The deadline of the whole request is one for all its attempts; a combo's target has its own for the beginning of its answer. */
export const timeoutsOf = (timeouts: Timeouts, { targetTimeoutMs }: WalkPolicy, attempts: number, startedAt: number, now: number): Timeouts => {
  if (targetTimeoutMs === null && (attempts === 1 || timeouts.total === 0)) return timeouts
  return shortened(timeouts, targetTimeoutMs, startedAt, now)
}

const shortened = (timeouts: Timeouts, targetTimeoutMs: number | null, startedAt: number, now: number): Timeouts => {
  const least = (limit: number) => targetTimeoutMs === null ? limit : limit === 0 ? targetTimeoutMs : Math.min(limit, targetTimeoutMs)
  return {
    ...timeouts,
    headers: least(timeouts.headers),
    firstEvent: least(timeouts.firstEvent),
    total: timeouts.total === 0 ? 0 : Math.max(1, timeouts.total - (now - startedAt))
  }
}
