/** Events as they are queued and sent: `{event, timestamp, data}` with the event's id in the data, the same for every copy of it. */
import type { QueuedEvent } from "./ports/WebhookQueue.ts"
import type { RequestSummary } from "#actors/request/ports/Telemetry.ts"
import type { GatewayEvent, QuotaExceeded, RequestCompleted, RequestFailed } from "#schemas/events.ts"
import type { LedgerRow, Outcome } from "#schemas/records/LedgerRow.ts"
import * as RequestIds from "#schemas/protocols/requestIds.ts"
import * as StatusReason from "#schemas/statusReason.ts"

/** Characters of an error message in an event. */
const MESSAGE_CHARS = 500

/** An event as it stands in the queue, with the body that receivers get. */
export const queued = (event: GatewayEvent, id: string): QueuedEvent => {
  const at = new Date(event.at).toISOString()
  return { id, type: event.type, at, body: JSON.stringify({ event: event.type, timestamp: at, data: { ...event.data, event_id: id } }) }
}

/**
 * One request has one event, from whichever source. An id that a client gave may repeat: `distinct` keeps apart the requests that share it,
 * because what has the id of another event is not told.
 */
export const requestEventId = (requestId: string, distinct: string): string => RequestIds.isOwn(requestId) ? `evt_${requestId}` : `evt_${requestId}_${distinct}`

/** Several nodes may see the same limit being passed: one event for a key, a limit and a window. */
export const quotaEventId = ({ data }: QuotaExceeded, otherwise: string): string =>
  data.resets_at === null
    ? otherwise
    : `evt_quota_${[data.api_key_id, data.quota, data.scope, data.limit, data.resets_at, data.pct >= 100 ? "passed" : "near"].join("_")}`

const reasons: Readonly<Record<Outcome, string>> = {
  "completed": "The request was completed",
  "client-abort": "The client left",
  "gateway-timeout": "The upstream did not answer in time",
  "upstream-reset": "The upstream broke off",
  "upstream-status": "The upstream refused",
  "parse-error": "The upstream's answer could not be read",
  "policy": "The gateway refused",
  "crashed": "The gateway process was killed while the request ran"
}

interface Failure {
  readonly requestId: string
  readonly apiKeyId: string | null
  readonly provider: string | null
  readonly model: string | null
  readonly status: number
  readonly outcome: Outcome
  readonly errorCode: string | null
  readonly upstreamStatus: number
  readonly phase: string | null
  readonly attempts: number
  readonly latencyMs: number
  readonly at: number
}

const messageOf = ({ errorCode, outcome, phase, provider, upstreamStatus }: Failure): string => {
  const where = provider === null || provider === "" ? "" : ` (${provider}${upstreamStatus === 0 ? "" : `, HTTP ${upstreamStatus}`}${phase === null ? "" : `, ${phase}`})`
  return `${reasons[outcome]}${where}${errorCode === null ? "" : `: ${errorCode}`}`.slice(0, MESSAGE_CHARS)
}

const failedEvent = (failure: Failure): RequestFailed => ({
  type: "request.failed",
  at: failure.at,
  data: {
    trace_id: failure.requestId, api_key_id: failure.apiKeyId ?? "", provider: failure.provider ?? "", model: failure.model ?? "", status: failure.status,
    error_code: failure.errorCode ?? failure.outcome, error_message: messageOf(failure), attempts: failure.attempts, latency_ms: Math.round(failure.latencyMs)
  }
})

/** A client that leaves is no failure; a process that dies under a request is one. */
const fails = (outcome: Outcome): boolean => outcome !== "completed" && outcome !== "client-abort"

type NameOf = (provider: string) => string

/** What a request used at all its calls. */
const sum = (rows: ReadonlyArray<LedgerRow>, of: "tokensIn" | "tokensOut" | "costUsd"): number => rows.reduce((all, row) => all + row[of], 0)

/** Dollars without the noise of their sum. */
const usd = (value: number): number => Math.round(value * 1e10) / 1e10

/**
 * What a ledger row says of its request; null when its attempt was not the last one. `nameOf`: the name of a provider's id; `others`: rows of
 * the request's other calls, which are in the figures of what it used.
 */
export const ofRow = (row: LedgerRow, nameOf: NameOf, others: ReadonlyArray<LedgerRow>): QueuedEvent | null => {
  if (!row.final && row.outcome !== "crashed") return null
  if (fails(row.outcome)) return queued(failedEvent({ ...row, provider: nameOf(row.provider), attempts: row.attempt, at: row.settledAt }), requestEventId(row.requestId, row.attemptId))
  if (row.outcome !== "completed") return null
  const calls = [...others, row]
  return queued({
    type: "request.completed",
    at: row.settledAt,
    data: {
      trace_id: row.requestId, api_key_id: row.apiKeyId ?? "", provider: nameOf(row.provider), model: row.model, status: row.status,
      tokens_in: sum(calls, "tokensIn"), tokens_out: sum(calls, "tokensOut"), cost_usd: calls.length === 1 ? row.costUsd : usd(sum(calls, "costUsd"))
    }
  }, requestEventId(row.requestId, row.attemptId))
}

/** A request that the cache answered: no call was made, and nothing was spent. Null for the others. */
export const ofCacheHit = (summary: RequestSummary, nameOf: NameOf): RequestCompleted | null => {
  const { apiKeyId, attempts, cache, latencyMs, outcome, requestId, startedAt, status } = summary
  if (cache !== "hit" || outcome !== "completed" || attempts > 0) return null
  const provider = summary.provider === null ? "" : nameOf(summary.provider)
  const model = summary.model ?? summary.requestedModel ?? ""
  return {
    type: "request.completed",
    at: startedAt + latencyMs,
    data: {
      trace_id: requestId, api_key_id: apiKeyId ?? "", provider,
      // As its provider calls it, like that of a call.
      model: provider !== "" && model.startsWith(`${provider}/`) ? model.slice(provider.length + 1) : model,
      status, tokens_in: 0, tokens_out: 0, cost_usd: 0
    }
  }
}

/** A request that failed on its way to or through its targets; null for the others, and for what was refused before routing. */
export const ofSummary = (summary: RequestSummary, nameOf: NameOf): RequestFailed | null => {
  if (!fails(summary.outcome) || (summary.attempts === 0 && !StatusReason.isServers(summary.status))) return null
  return failedEvent({
    ...summary, provider: summary.provider === null ? null : nameOf(summary.provider), model: summary.model ?? summary.requestedModel, upstreamStatus: 0, phase: null,
    at: summary.startedAt + summary.latencyMs
  })
}
