/** What one request leaves behind, as values: start records, ledger rows, the summary for telemetry. Pure. */
import type { AttemptEnd } from "#actors/Attempt.ts"
import type { Inbound } from "#actors/Inbound.ts"
import type { Usage } from "#actors/ports/Face.ts"
import type { Target } from "#actors/ports/Target.ts"
import type { RequestSummary } from "#actors/ports/Telemetry.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { AttemptStart, LedgerRow, Outcome } from "#schemas/records/LedgerRow.ts"

/** Error code of the rows of a client that has gone. */
export type GoneCode = "client_closed_request" | "slow_reader_timeout"

export const startOf = (
  inbound: Inbound,
  target: Target,
  facts: Pick<AttemptStart, "attemptId" | "attempt" | "startedAt" | "nodeId">
): AttemptStart => ({
  ...facts,
  requestId: inbound.requestId,
  endpoint: inbound.endpoint,
  requestedModel: inbound.requestedModel,
  provider: target.provider,
  model: target.model,
  connectionId: target.connection === null ? null : target.connection.id,
  apiKeyId: inbound.key === null ? null : inbound.key.id,
  apiKeyName: inbound.key === null ? null : inbound.key.name,
  combo: inbound.route.combo,
  sessionTag: inbound.sessionTag,
  sourceFormat: inbound.face.name,
  targetFormat: target.wireFormat,
  stream: inbound.stream
})

/** The model did work for this attempt, so it has tokens even when the upstream counted none. */
export const ranModel = (end: AttemptEnd): boolean => end.usage !== null || end.committed || end.answer !== null

export const rowOf = (start: AttemptStart, end: AttemptEnd, settled: {
  readonly final: boolean
  readonly outcome: Outcome
  readonly usage: Usage
  readonly settledAt: number
  readonly goneCode: GoneCode
  readonly costUsd: number
}): LedgerRow => {
  const { outcome, settledAt, usage } = settled
  const gone = outcome === "client-abort"
  return {
    ...start,
    final: settled.final,
    settledAt,
    outcome,
    upstreamStatus: end.upstreamStatus,
    status: gone ? 499 : end.error !== null && !end.committed ? end.error.status : 200,
    errorCode: gone ? settled.goneCode : end.error === null ? null : end.error.code,
    phase: end.phase,
    tokensIn: usage.input,
    tokensOut: usage.output,
    tokensCacheRead: usage.cacheRead,
    tokensCacheCreation: usage.cacheCreation,
    tokensReasoning: usage.reasoning,
    estimated: ranModel(end) && end.usage === null,
    costUsd: settled.costUsd,
    latencyMs: settledAt - start.startedAt,
    ttftMs: end.firstContentAt === null ? null : end.firstContentAt - start.startedAt
  }
}

/** `row`: of the newest attempt; null when none was made. `goneCode`: null while the client is there. */
export const summaryOf = (inbound: Inbound, row: LedgerRow | null, facts: {
  readonly refusal: PublicError | null
  readonly attempts: number
  readonly startedAt: number
  readonly now: number
  readonly bytesOut: number
  readonly goneCode: GoneCode | null
}): RequestSummary => {
  const { goneCode, refusal, startedAt } = facts
  const answered = row !== null && row.outcome === "completed"
  return {
    requestId: inbound.requestId,
    method: "POST",
    endpoint: inbound.endpoint,
    requestedModel: inbound.requestedModel,
    provider: answered ? row.provider : null,
    model: answered ? row.model : null,
    apiKeyId: inbound.key === null ? null : inbound.key.id,
    status: row !== null ? row.status : goneCode !== null ? 499 : refusal !== null ? refusal.status : 500,
    outcome: row === null ? "policy" : row.outcome,
    errorCode: row !== null ? row.errorCode : goneCode ?? (refusal !== null ? refusal.code : "internal_server_error"),
    stream: inbound.stream,
    attempts: facts.attempts,
    cache: "off",
    startedAt,
    latencyMs: facts.now - startedAt,
    ttftMs: row === null || row.ttftMs === null ? null : row.startedAt + row.ttftMs - startedAt,
    bytesOut: facts.bytesOut
  }
}
