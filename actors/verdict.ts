/** What an attempt says about its upstream's health (supplement 5.1, 5.2); nothing when it was ours or the client's doing. Pure. */
import type { AttemptEnd } from "#actors/Attempt.ts"
import type { Verdict } from "#actors/ports/Resilience.ts"
import * as RetryHint from "#actors/retryHint.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"

/** Status of an answer that was none: the upstream spoke, and nobody could understand it. */
const gibberish = 502

/** `row`: as it was settled. Null for client aborts, our own refusals and attempts that never opened. */
export const verdictOf = (end: AttemptEnd, row: LedgerRow, now: number): Verdict | null => {
  if (!end.opened || row.outcome === "client-abort" || row.outcome === "policy") return null
  const ok = end.error === null
  const inStream = end.upstreamStatus >= 200 && end.upstreamStatus < 300
  const status = ok || !inStream ? end.upstreamStatus : row.outcome === "parse-error" ? gibberish : end.error.status
  return {
    ok,
    status,
    network: row.outcome === "gateway-timeout" || row.outcome === "upstream-reset",
    message: end.error === null ? "" : end.error.message,
    retryAfterMs: end.error === null ? null : RetryHint.parse(status, end.headers, end.error.message, now)?.delayMs ?? null,
    ttftMs: row.ttftMs,
    latencyMs: row.latencyMs
  }
}
