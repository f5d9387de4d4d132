/** The client error that a failed attempt becomes: pure, one function per way to fail. */
import type { UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { Unavailable } from "#actors/request/ports/Resilience.ts"
import type { CutReason } from "#actors/request/walk/RequestState.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { Phase, UpstreamFailure } from "#actors/request/ports/Upstream.ts"
import * as Masking from "./masking.ts"
import * as RetryHint from "#actors/resilience/retryHint.ts"
import * as Errors from "#schemas/errors.ts"
import type { ErrorCode, PublicError } from "#schemas/errors.ts"
import { oneShotKinds, type TargetFamily } from "#schemas/wire/formats.ts"
import type { Outcome } from "#schemas/records/LedgerRow.ts"
import * as StatusReason from "#schemas/statusReason.ts"

const timeoutCodes: Readonly<Record<Phase, ErrorCode>> = {
  "queue": "upstream_connect_timeout",
  "connect": "upstream_connect_timeout",
  "headers": "upstream_headers_timeout",
  "first-event": "STREAM_READINESS_TIMEOUT",
  "idle": "upstream_idle_timeout",
  "total": "upstream_total_timeout"
}

/** `proxy`: id of the one that it left by; null = it went direct. */
export const ofFailure = (failure: UpstreamFailure, target: Target, proxy: string | null): PublicError => {
  const where = `Provider ${target.providerAlias}`
  switch (failure.reason) {
    case "timeout":
      return Errors.make(timeoutCodes[failure.phase], `${where} did not answer in time (${failure.phase}): ${failure.message}`)
    case "connect-refused":
    case "dns":
    case "tls":
      return Errors.make("upstream_connect_error", `${where} cannot be reached (${failure.reason}): ${failure.message}`)
    case "proxy":
      return Errors.make("PROXY_001", `${where} cannot be reached: ${failure.message}. See GET /api/v1/management/proxies.`, proxy === null ? {} : { extra: { proxy } })
    case "blocked-url":
      return Errors.make("bad_gateway", `${where} has an address that the outgoing-URL guard refuses: ${failure.message}`)
    case "protocol":
      return Errors.make("upstream_invalid_response", `${where} sent an invalid response: ${failure.message}`)
    case "lost-body":
      return Errors.make("internal_server_error", `The gateway cannot send the request: ${failure.message}. Repeat it.`)
    case "reset":
    case "truncated":
    case "aborted":
      return Errors.make("upstream_reset", `${where} closed the connection before the answer was complete.`)
  }
}

const outcomes: Partial<Record<UpstreamFailure["reason"], Outcome>> = {
  timeout: "gateway-timeout", protocol: "parse-error", "lost-body": "policy",
  // The provider was not asked: its breaker, its cooldowns and its connections hear nothing of it.
  proxy: "policy"
}

const breaks: ReadonlySet<UpstreamFailure["reason"]> = new Set(["timeout", "connect-refused", "dns", "reset", "truncated"])

/** The connection failed, or was silent: a repetition may succeed. */
export const isBreak = ({ phase, reason }: UpstreamFailure): boolean => breaks.has(reason) && phase !== "total"

/** What a failed call is in the ledger. */
export const outcomeOf = ({ reason }: UpstreamFailure): Outcome => outcomes[reason] ?? "upstream-reset"

/** A reply that was no answer. */
export interface FailedReply {
  readonly status: number
  /** Null when the body has no words for a client: it is empty, a page for browsers or binary. */
  readonly body: UpstreamErrorBody | null
  /** Response headers, flat. */
  readonly headers: ReadonlyArray<string>
  readonly target: Target
  /** Request headers of the call; they hold the credential. */
  readonly sent: ReadonlyArray<string>
  /** ms since the epoch. */
  readonly now: number
}

/** Where a redirect leads to is not told: clients do not know the addresses of upstreams. */
const unexpected = (status: number): string =>
  status >= 300 && status !== 304
    ? `a redirect (HTTP ${status}), which is not followed. Check the base URL of its connection or node: its scheme, its host and its path`
    : `an unexpected status ${status}`

/** A non-2xx answer: the upstream's own words, without the stored credential. */
export const ofStatus = (reply: FailedReply): PublicError => {
  const { body, headers, now, status, target } = reply
  if (!StatusReason.isError(status)) return Errors.make("bad_gateway", `Provider ${target.providerAlias} answered with ${unexpected(status)}.`)
  const kind = kindOf(status, body)
  const reason = StatusReason.of(status)
  const hint = RetryHint.parse(status, headers, body === null ? "" : body.message, now, body?.own)
  // Whole seconds, rounded up, at least 1.
  const retryAfter = hint === null ? null : Math.max(1, Math.ceil(hint.delayMs / 1000))
  const refused = reason === "credential" || (reason === "forbidden" && saysNoMore(body))
    ? `Provider ${target.providerAlias} refused the credential stored in the gateway (HTTP ${status}). ` +
      "Check the connection with POST /api/providers/{id}/test."
    : null
  if (body === null) {
    return new Errors.PublicError(
      refused === null ? kind.code : refusedCode, status, kind.type, refused ?? `Provider ${target.providerAlias} answered with HTTP ${status}.`,
      retryAfter, null, replyOf(reply, null, null, false)
    )
  }
  // The client's own key is fine: the fields beside the vendor's message name the refused credential.
  return fromUpstream(reply, body, refused === null ? kind : { ...kind, code: refusedCode }, retryAfter, refused === null ? null : {
    gateway: { code: refusedCode, message: refused }
  })
}

const refusedCode = "upstream_auth_error"
const notFoundCode = "upstream_not_found"

/** The type and code that a status stands for. A 404 that names no model is about the path: the base URL is probably wrong. */
const kindOf = (status: number, body: UpstreamErrorBody | null): { readonly type: string; readonly code: string } => {
  const kind = Errors.ofStatus(status)
  const namesModel = body !== null && (body.own !== undefined || /model|deployment|engine/i.test(body.message))
  return StatusReason.of(status) === "not-found" && !namesModel ? { ...kind, code: notFoundCode } : kind
}

/** A 403 without a reason: the body is empty, or repeats the name of the status. */
const saysNoMore = (body: UpstreamErrorBody | null): boolean => body === null || (body.own === undefined && /^(?:403\W*)?forbidden\.?$/i.test(body.message))

/** An error object inside a 200 answer; its own status when it names one, else by its words, else 502. */
export const inStream = (reply: Omit<FailedReply, "status"> & { readonly body: UpstreamErrorBody }): PublicError => {
  const { body } = reply
  const status = body.status !== null && StatusReason.isError(body.status) && body.status <= 599 ? body.status : statusOfType(body)
  return fromUpstream({ ...reply, status }, body, Errors.ofStatus(status), null, null)
}

/** The upstream's own words, without what they must not say. */
const fromUpstream = (
  reply: FailedReply,
  body: UpstreamErrorBody,
  kind: { readonly type: string; readonly code: string },
  retryAfter: number | null,
  added: Errors.ErrorExtra | null
): PublicError => {
  const { status, target } = reply
  const mask = Masking.of(target, reply.sent)
  const param = body.param === undefined ? null : { param: mask.text(body.param) }
  return new Errors.PublicError(
    kind.code === refusedCode ? kind.code : codeOf(reply, body, kind.code, mask),
    status,
    // A vendor's own error object has its type; the looser forms of compatible servers are written anew, with theirs.
    body.type !== null && body.own === undefined && speaksCommonForm(target.wireFormat) ? mask.text(body.type) : kind.type,
    mask.text(body.message),
    retryAfter,
    param === null && added === null ? null : { ...param, ...added },
    replyOf(reply, body.own === undefined ? null : mask.document(body.own), body.requestId === undefined ? null : mask.text(body.requestId), true)
  )
}

const replyOf = ({ headers, target }: FailedReply, error: Errors.UpstreamReply["error"], requestId: string | null, spoke: boolean): Errors.UpstreamReply =>
  ({ family: target.wireFormat, error, requestId, spoke, headers })

/** Requests without a conversation tell of errors in the common form, too, where their server speaks the clients' own format. */
const commonKinds: ReadonlySet<string> = new Set(oneShotKinds)

const speaksCommonForm = (family: TargetFamily): boolean => family === "chat-completions" || family === "responses" || commonKinds.has(family)

/** What the context was too small for, in the words of the vendors. */
const overflow = /prompt is too long|maximum context length|context length exceeded|exceeds? the (?:model'?s )?(?:maximum |available )?context|context window|input token count .{0,100} exceeds/i

/**
 * A code of the common form: the vendor's own where it uses that form or matches one of the gateway's codes, else the status
 * decides.
 */
const codeOf = ({ status, target }: FailedReply, body: UpstreamErrorBody, ofStatus: string, mask: Masking.Masking): string => {
  const { message, type } = body
  // A subscription that is used up says so by its type alone.
  const code = body.code ?? (type === "usage_limit_reached" ? type : null)
  if (code !== null && (speaksCommonForm(target.wireFormat) || Errors.isCode(code))) return mask.text(code)
  return StatusReason.isRequests(status) && overflow.test(message) ? "context_length_exceeded" : ofStatus
}

const statusOfType = (body: UpstreamErrorBody): number => {
  const word = `${body.type ?? ""} ${body.code ?? ""}`
  if (/rate_limit|overloaded|usage_limit|insufficient_quota/.test(word)) return 429
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
      return Errors.make("rate_limit_exceeded", `Every connection that serves '${model}' is at its limit of calls.`, { retryAfterSeconds })
    default:
      return Errors.make("model_cooldown", `Every connection that serves '${model}' is cooling down; the first is back in ${retryAfterSeconds} s.`, {
        retryAfterSeconds, extra: { model, reset_seconds: retryAfterSeconds, retry_after: retryAfterSeconds }
      })
  }
}

/** The same error with an earlier time to come back, as another target named it. */
export const withRetryAfter = (error: PublicError, seconds: number): PublicError =>
  new Errors.PublicError(error.code, error.status, error.type, error.message, seconds, error.extra, error.upstream)

/** The upstream's stream ended before any content. */
export const earlyEof = (target: Target): PublicError =>
  Errors.make("STREAM_EARLY_EOF", `Provider ${target.providerAlias} ended the stream before any content.`)

/** The upstream's stream ended in the middle. */
export const truncated = (target: Target): PublicError =>
  Errors.make("upstream_reset", `Provider ${target.providerAlias} ended the stream before it was complete.`)

/** The answer is not of the target's format. */
export const malformed = (target: Target): PublicError =>
  Errors.make("upstream_invalid_response", `Provider ${target.providerAlias} sent an answer that cannot be read as one of its format (${target.wireFormat}).`)

/** The answer is larger than `limit` bytes. */
export const tooLarge = (target: Target, limit: number): PublicError =>
  Errors.make("upstream_invalid_response", `Provider ${target.providerAlias} sent more than ${limit} bytes where less is allowed.`)

/** A complete answer that its combo's rules refuse; `rule` names the rule, because the answer must not appear in an error. */
export const rejected = (target: Target, rule: string): PublicError =>
  Errors.make("response_validation_failed", `The answer of '${target.publicModel}' breaks the combo's rule ${rule}.`)

/** For the ledger: the other target of a hedged request answered first. */
export const hedgeLost = (target: Target): PublicError =>
  Errors.make("hedge_lost", `Another target answered before '${target.publicModel}'.`)

/** `ms`: what the connection's line allows (requestQueue.executionMaxWaitMs). */
export const executionTimeout = (target: Target, ms: number): PublicError =>
  Errors.make("RATE_LIMIT_EXECUTION_TIMEOUT", `The call to '${target.publicModel}' took longer than ${ms} ms (requestQueue.executionMaxWaitMs).`)

/** The start of the attempt cannot be recorded. */
export const ledgerUnavailable = (detail: string): PublicError =>
  Errors.make("ledger_unavailable", `The usage journal cannot be written, so no request is sent unaccounted: ${detail}`, { retryAfterSeconds: 1 })

/** The gateway itself failed. */
export const internal = (): PublicError =>
  Errors.make("internal_server_error", "The gateway failed while it handled this request; the log has the request id.")

/** The gateway ends before the request does. */
export const shuttingDown = (): PublicError =>
  Errors.make("shutting_down", "The gateway is shutting down; repeat the request.", { retryAfterSeconds: 1 })

/** The error of a call that the gateway ends; null for a client that has left, which receives nothing. */
export const ofCut = (reason: CutReason, target: Target): PublicError | null => {
  switch (reason) {
    case "client-gone":
      return null
    case "shutting-down":
      return shuttingDown()
    case "hedge-lost":
      return hedgeLost(target)
    case "defect":
      return internal()
  }
}
