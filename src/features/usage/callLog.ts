/** Ledger rows in the forms the usage endpoints show. Pure. */
import type { CallLog } from "./api.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import * as StatusReason from "#schemas/statusReason.ts"

const endpointNames: Readonly<Record<string, string>> = {
  "/v1/chat/completions": "chat", chat: "chat", "/v1/embeddings": "embedding", "/v1/providers/embeddings": "embedding", embeddings: "embedding"
}

/** Names of what rows have by id; an account that is gone has none. */
export interface Names {
  readonly accountOf: (connectionId: string) => string | null
  readonly providerOf: (id: string) => string
}

export const ofRow = (row: LedgerRow, { accountOf, providerOf }: Names): CallLog => ({
  id: row.attemptId,
  requestId: row.requestId,
  timestamp: new Date(row.startedAt).toISOString(),
  method: "POST",
  path: row.endpoint,
  status: row.status,
  clientStatus: row.clientStatus === 0 ? null : row.clientStatus,
  model: row.model,
  requestedModel: row.requestedModel,
  provider: providerOf(row.provider),
  account: row.connectionId === null ? null : accountOf(row.connectionId),
  connectionId: row.connectionId,
  duration: row.latencyMs,
  ttft: row.ttftMs,
  tokensIn: row.tokensIn,
  tokensOut: row.tokensOut,
  tokensCacheRead: row.tokensCacheRead,
  tokensCacheCreation: row.tokensCacheCreation,
  tokensReasoning: row.tokensReasoning,
  tokens_compressed: null,
  units: row.units,
  unpriced: row.unpriced,
  estimated: row.estimated,
  cost: row.costUsd,
  outcome: row.outcome,
  attempt: row.attempt,
  cacheSource: "upstream",
  requestType: endpointNames[row.endpoint] ?? row.endpoint,
  sourceFormat: row.sourceFormat,
  targetFormat: row.targetFormat,
  apiKeyId: row.apiKeyId,
  apiKeyName: row.apiKeyName,
  comboName: row.combo,
  comboStepId: null,
  comboExecutionKey: null,
  error: row.errorCode,
  detailState: "none",
  hasRequestBody: false,
  hasResponseBody: false,
  hasPipelineDetails: false,
  requestSummary: null,
  session_tag: row.sessionTag
})

const cell = (text: string): string => text.replaceAll(/[|\r\n]/g, " ")

/** `timestamp | model | PROVIDER | account | in | out | status`. */
export const line = (row: LedgerRow, { accountOf, providerOf }: Names): string => [
  new Date(row.startedAt).toISOString(),
  cell(row.model),
  cell(providerOf(row.provider).toUpperCase()),
  cell(row.connectionId === null ? "-" : accountOf(row.connectionId) ?? row.connectionId.slice(0, 8)),
  String(row.tokensIn),
  String(row.tokensOut),
  row.outcome === "completed" ? String(row.status) : `${row.status} ${row.outcome}`
].join(" | ")

export interface CallLogFilter {
  readonly status?: string
  readonly model?: string
  readonly provider?: string
  readonly account?: string
  readonly apiKey?: string
  readonly combo?: string
  readonly search?: string
}

const has = (value: string | null, part: string | undefined): boolean =>
  part === undefined || (value !== null && value.toLowerCase().includes(part.toLowerCase()))

/** `status` is a number, a class such as `5xx`, `success` or `error`. */
const hasStatus = (status: number, wanted: string | undefined): boolean => {
  if (wanted === undefined) return true
  if (wanted === "success") return !StatusReason.isError(status)
  if (wanted === "error") return StatusReason.isError(status)
  return /^[1-5]xx$/.test(wanted) ? Math.floor(status / 100) === Number(wanted[0]) : status === Number(wanted)
}

/** A provider is found by a part of its name, or by its whole id. */
export const matches = (filter: CallLogFilter, { providerOf }: Pick<Names, "providerOf">) => (log: CallLog): boolean =>
  hasStatus(log.status, filter.status) &&
  (has(log.model, filter.model) || has(log.requestedModel, filter.model)) &&
  (has(log.provider, filter.provider) || (filter.provider !== undefined && log.provider === providerOf(filter.provider))) &&
  (has(log.account, filter.account) || log.connectionId === filter.account) &&
  (has(log.apiKeyName, filter.apiKey) || log.apiKeyId === filter.apiKey) &&
  has(log.comboName, filter.combo) &&
  (filter.search === undefined ||
    [log.id, log.requestId, log.model, log.requestedModel, log.provider, log.account, log.apiKeyName, log.error, log.session_tag]
      .some((value) => has(value, filter.search)))
