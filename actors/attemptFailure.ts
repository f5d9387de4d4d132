/** What a failed attempt means to the client: pure, one function per way to fail (supplement 2.5, 10.4, 18). */
import type { UpstreamErrorBody } from "#actors/ports/Face.ts"
import type { Unavailable } from "#actors/ports/Resilience.ts"
import type { Target } from "#actors/ports/Target.ts"
import type { Phase, UpstreamFailure } from "#actors/ports/Upstream.ts"
import * as RetryHint from "#actors/retryHint.ts"
import * as Errors from "#schemas/errors.ts"
import type { ErrorCode, PublicError } from "#schemas/errors.ts"

/** 400, 413 and 422 are the request's own fault: every other target would be asked in vain (supplement 2.5). */
export const mayRetryStatus = (status: number): boolean => status !== 400 && status !== 413 && status !== 422

const timeoutCodes: Readonly<Record<Phase, ErrorCode>> = {
  "queue": "upstream_connect_timeout",
  "connect": "upstream_connect_timeout",
  "headers": "upstream_headers_timeout",
  "first-event": "STREAM_READINESS_TIMEOUT",
  "idle": "upstream_idle_timeout",
  "total": "upstream_total_timeout"
}

export const ofFailure = (failure: UpstreamFailure, target: Target): PublicError => {
  const where = `Provider ${target.providerAlias}`
  switch (failure.reason) {
    case "timeout":
      return Errors.make(timeoutCodes[failure.phase], `${where} did not answer in time (${failure.phase}): ${failure.message}`)
    case "connect-refused":
    case "dns":
    case "tls":
    case "proxy":
      return Errors.make("upstream_connect_error", `${where} cannot be reached (${failure.reason}): ${failure.message}`)
    case "blocked-url":
      return Errors.make("bad_gateway", `${where} has an address that the outgoing-URL guard refuses: ${failure.message}`)
    case "protocol":
      return Errors.make("upstream_invalid_response", `${where} sent an invalid response: ${failure.message}`)
    case "reset":
    case "truncated":
    case "aborted":
      return Errors.make("upstream_reset", `${where} closed the connection before the answer was complete.`)
  }
}

/** A non-2xx answer: the upstream's own words where they help the client, never where they speak of the stored credential. */
export const ofStatus = (
  status: number,
  body: UpstreamErrorBody | null,
  headers: ReadonlyArray<string>,
  target: Target,
  now: number
): PublicError => {
  const kind = Errors.ofStatus(status)
  const hint = RetryHint.parse(status, headers, body === null ? "" : body.message, now)
  // Whole seconds, rounded up, at least 1 (supplement 18.5).
  const retryAfter = hint === null ? null : Math.max(1, Math.ceil(hint.delayMs / 1000))
  if (status === 401 || (status === 403 && body === null)) {
    return new Errors.PublicError(
      "upstream_auth_error", status, kind.type,
      `Provider ${target.providerAlias} refused the credential stored in the gateway (HTTP ${status}). ` +
        "Check the connection with POST /api/providers/{id}/test.",
      retryAfter
    )
  }
  if (status < 400) return Errors.make("bad_gateway", `Provider ${target.providerAlias} answered with an unexpected status ${status}.`)
  if (body === null) {
    return new Errors.PublicError(kind.code, status, kind.type, `Provider ${target.providerAlias} answered with HTTP ${status}.`, retryAfter)
  }
  return fromUpstream(body, status, kind, target, retryAfter)
}

/** An error object inside a 200 answer; its own status when it names one, else 502. */
export const inStream = (body: UpstreamErrorBody, target: Target): PublicError => {
  const status = body.status !== null && body.status >= 400 && body.status <= 599 ? body.status : statusOfType(body)
  return fromUpstream(body, status, Errors.ofStatus(status), target, null)
}

/** The upstream's own words, without what they must not say. */
const fromUpstream = (
  body: UpstreamErrorBody,
  status: number,
  kind: { readonly type: string; readonly code: string },
  target: Target,
  retryAfter: number | null
): PublicError =>
  new Errors.PublicError(
    scrub(body.code ?? kind.code, target), status, scrub(body.type ?? kind.type, target), scrub(body.message, target), retryAfter,
    body.param === undefined ? null : { param: scrub(body.param, target) }
  )

const statusOfType = (body: UpstreamErrorBody): number => {
  const word = `${body.type ?? ""} ${body.code ?? ""}`
  if (word.includes("rate_limit") || word.includes("overloaded")) return 429
  if (word.includes("invalid_request") || word.includes("context_length")) return 400
  return 502
}

/** A target that became unavailable between the plan and its turn. */
export const unavailable = (target: Target, reason: Unavailable["reason"], retryAfterSeconds: number): PublicError => {
  const provider = target.providerAlias
  const model = target.publicModel
  switch (reason) {
    case "breaker-open":
    case "breaker-probing":
      return Errors.make("provider_circuit_open", `Provider ${provider} failed too often and rests; it is tried again in ${retryAfterSeconds} s.`, {
        retryAfterSeconds, extra: { provider, retry_after: retryAfterSeconds }
      })
    case "connection-busy":
    case "model-busy":
      return Errors.make("rate_limit_exceeded", `Every connection that serves '${model}' is at its limit of concurrent calls.`, { retryAfterSeconds })
    default:
      return Errors.make("model_cooldown", `Every connection that serves '${model}' is cooling down; the first is back in ${retryAfterSeconds} s.`, {
        retryAfterSeconds, extra: { model, reset_seconds: retryAfterSeconds, retry_after: retryAfterSeconds }
      })
  }
}

/** The same error with an earlier time to come back, as another target named it. */
export const withRetryAfter = (error: PublicError, seconds: number): PublicError =>
  new Errors.PublicError(error.code, error.status, error.type, error.message, seconds, error.extra)

export const earlyEof = (target: Target): PublicError =>
  Errors.make("STREAM_EARLY_EOF", `Provider ${target.providerAlias} ended the stream before any content.`)

export const truncated = (target: Target): PublicError =>
  Errors.make("upstream_reset", `Provider ${target.providerAlias} ended the stream before it was complete.`)

export const malformed = (target: Target): PublicError =>
  Errors.make("upstream_invalid_response", `Provider ${target.providerAlias} sent an answer that is no chat completion.`)

export const tooLarge = (target: Target, limit: number): PublicError =>
  Errors.make("upstream_invalid_response", `Provider ${target.providerAlias} sent more than ${limit} bytes where less is allowed.`)

/** A complete answer that its combo's rules refuse; `rule` names the rule, because the answer is not for everybody's eyes. */
export const rejected = (target: Target, rule: string): PublicError =>
  Errors.make("response_validation_failed", `The answer of '${target.publicModel}' breaks the combo's rule ${rule}.`)

/** For the ledger: the other target of a hedged request answered first. */
export const hedgeLost = (target: Target): PublicError =>
  Errors.make("hedge_lost", `Another target answered before '${target.publicModel}'.`)

/** `ms`: what the connection's line allows (requestQueue.executionMaxWaitMs). */
export const executionTimeout = (target: Target, ms: number): PublicError =>
  Errors.make("RATE_LIMIT_EXECUTION_TIMEOUT", `The call to '${target.publicModel}' took longer than ${ms} ms (requestQueue.executionMaxWaitMs).`)

export const ledgerUnavailable = (detail: string): PublicError =>
  Errors.make("ledger_unavailable", `The usage journal cannot be written, so no request is sent unaccounted: ${detail}`, { retryAfterSeconds: 1 })

export const internal = (): PublicError =>
  Errors.make("internal_server_error", "The gateway failed while it handled this request; the log has the request id.")

export const shuttingDown = (): PublicError =>
  Errors.make("shutting_down", "The gateway is shutting down; repeat the request.", { retryAfterSeconds: 1 })

const secretLike = /\b(sk|pk|gsk|xai|key|gwa_live)[-_][A-Za-z0-9_*.-]{6,}|\bAIza[A-Za-z0-9_-]{10,}|Bearer\s+\S+/g

/** A header value of fewer characters is no credential worth the name, and would be found in plain words. */
const shortestSecret = 8

/** Upstream messages may quote credentials: cut out the target's own and whatever looks like one (supplement 18.1). */
const scrub = (message: string, target: Target): string => {
  let text = message
  for (let i = 0; i < target.headers.length; i += 2) {
    if (!/auth|key|token|secret/.test(target.headers[i] as string)) continue
    const secret = (target.headers[i + 1] as string).replace(/^\w+ /, "")
    if (secret.length >= shortestSecret) text = text.replaceAll(secret, "[redacted]")
  }
  return text.replace(secretLike, "[redacted]")
}
