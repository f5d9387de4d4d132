/**
 * Brings ledger rows into a form that Postgres always takes. One odd value (a NaN cost, an absurd token count that an
 * upstream reported, a NUL in a model name that a client sent) must not keep a whole batch out of the ledger.
 */
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import { stored } from "./text.ts"

/** numeric(20,10) holds ten digits before the point. */
const maxCost = 9_999_999_999
const maxInt = 2_147_483_647

const bounded = (value: number, max: number): number =>
  Number.isFinite(value) ? Math.min(Math.max(value, -max), max) : value === Infinity ? max : 0

const whole = (value: number, max = Number.MAX_SAFE_INTEGER): number => Math.round(bounded(value, max))

const storedOrNull = (text: string | null): string | null => text === null ? null : stored(text)

const isWhole = Number.isSafeInteger

const numbersFit = (row: LedgerRow): boolean =>
  isWhole(row.startedAt) && isWhole(row.settledAt) && isWhole(row.tokensIn) && isWhole(row.tokensOut)
  && isWhole(row.tokensCacheRead) && isWhole(row.tokensCacheCreation) && isWhole(row.tokensReasoning)
  && Math.abs(row.attempt) <= maxInt && Math.abs(row.upstreamStatus) <= maxInt && Math.abs(row.status) <= maxInt
  && isWhole(row.attempt) && isWhole(row.upstreamStatus) && isWhole(row.status)
  && Math.abs(row.costUsd) <= maxCost && Number.isFinite(row.latencyMs)
  && (row.ttftMs === null || Number.isFinite(row.ttftMs))

const mended = (row: LedgerRow): LedgerRow => ({
  ...row,
  attemptId: stored(row.attemptId),
  requestId: stored(row.requestId),
  nodeId: stored(row.nodeId),
  endpoint: stored(row.endpoint),
  requestedModel: stored(row.requestedModel),
  provider: stored(row.provider),
  model: stored(row.model),
  connectionId: storedOrNull(row.connectionId),
  apiKeyId: storedOrNull(row.apiKeyId),
  apiKeyName: storedOrNull(row.apiKeyName),
  combo: storedOrNull(row.combo),
  sessionTag: storedOrNull(row.sessionTag),
  sourceFormat: stored(row.sourceFormat),
  targetFormat: stored(row.targetFormat),
  errorCode: storedOrNull(row.errorCode),
  phase: storedOrNull(row.phase),
  attempt: whole(row.attempt, maxInt),
  upstreamStatus: whole(row.upstreamStatus, maxInt),
  status: whole(row.status, maxInt),
  startedAt: whole(row.startedAt),
  settledAt: whole(row.settledAt),
  tokensIn: whole(row.tokensIn),
  tokensOut: whole(row.tokensOut),
  tokensCacheRead: whole(row.tokensCacheRead),
  tokensCacheCreation: whole(row.tokensCacheCreation),
  tokensReasoning: whole(row.tokensReasoning),
  costUsd: bounded(row.costUsd, maxCost),
  latencyMs: bounded(row.latencyMs, Number.MAX_VALUE),
  ttftMs: row.ttftMs === null ? null : bounded(row.ttftMs, Number.MAX_VALUE)
})

/** Escapes that JSON allows and Postgres text does not: NUL and lone surrogates. Rare, and a false alarm only costs time. */
const suspicious = /\\u(?:0000|d[89a-f])/i

/**
 * The rows as one JSON text for `json_to_recordset`. `mendedIds` names the rows whose numbers had to be changed.
 */
export const toJson = (rows: ReadonlyArray<LedgerRow>): { readonly json: string; readonly mendedIds: ReadonlyArray<string> } => {
  const mendedIds: Array<string> = []
  const fit = rows.map((row) => {
    if (numbersFit(row)) return row
    mendedIds.push(row.attemptId)
    return mended(row)
  })
  const json = JSON.stringify(fit)
  return { json: json.includes("\\u") && suspicious.test(json) ? JSON.stringify(fit.map(mended)) : json, mendedIds }
}
