/** What an attempt says about its upstream's health; nothing when it was ours or the client's doing. Pure. */
import type { AttemptEnd } from "#actors/request/steps/attemptValues.ts"
import type { Verdict } from "#actors/request/ports/Resilience.ts"
import * as RequestFacts from "./requestFacts.ts"
import * as AccountSignals from "#actors/resilience/AccountSignals.ts"
import * as RetryHint from "#actors/resilience/retryHint.ts"
import type { Outcome } from "#schemas/records/LedgerRow.ts"
import * as StatusReason from "#schemas/statusReason.ts"

/** Status for an unreadable answer: the upstream replied, and the reply could not be parsed. */
const unreadableAnswer = 502

/**
 * Null for client aborts, our own refusals and attempts that never opened. An answer that broke a rule of its combo is still an
 * answer: its upstream is healthy. `startedAt` in ms.
 */
export const verdictOf = (end: AttemptEnd, outcome: Outcome, startedAt: number): Verdict | null => {
  const now = end.endedAt
  if (!end.opened || outcome === "client-abort" || (outcome === "policy" && !end.rejected)) return null
  // The server has the endpoint at another path: that says nothing about its models.
  if (end.repeatable && StatusReason.isMissing(end.upstreamStatus)) return null
  if (end.rejected) return { ok: true, status: end.upstreamStatus, network: false, message: "", retryAfterMs: null, accountWide: false, ttftMs: ttftOf(end, startedAt), latencyMs: RequestFacts.elapsed(startedAt, now) }
  const ok = end.error === null
  const inStream = StatusReason.isOk(end.upstreamStatus)
  const status = ok || !inStream ? end.upstreamStatus : outcome === "parse-error" ? unreadableAnswer : end.error.status
  return {
    ok,
    status,
    network: outcome === "gateway-timeout" || outcome === "upstream-reset",
    message: end.error === null ? "" : end.error.message,
    retryAfterMs: end.error === null ? null : RetryHint.parse(status, end.headers, end.error.message, now, end.error.upstream?.error)?.delayMs ?? null,
    unclear: end.error !== null && AccountSignals.isUnclear(end.error, status),
    accountWide: end.error !== null && RetryHint.isAccountWide(status, end.headers, end.error),
    ttftMs: ttftOf(end, startedAt),
    latencyMs: RequestFacts.elapsed(startedAt, now)
  }
}

const ttftOf = ({ firstContentAt }: AttemptEnd, startedAt: number): number | null => firstContentAt === null ? null : RequestFacts.elapsed(startedAt, firstContentAt)
