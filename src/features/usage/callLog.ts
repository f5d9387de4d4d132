/** Ledger rows in the forms the usage endpoints show. Pure. */
import type { CallLog } from "./api.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"

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
  tokens_compressed: row.tokensCompressed,
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
  hasPipelineDetails: row.phases !== null,
  phases: row.phases,
  requestSummary: null,
  session_tag: row.sessionTag,
  proxyId: row.proxyId
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
