/**
 * Spans made after the fact: a server span per request, and under it a client span per attempt. An attempt that settles
 * after its request (a drain for usage) finds the request's span among the recent ones; one without a request stands alone.
 */
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import type { RequestSummary } from "#actors/request/ports/Telemetry.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import * as GenAi from "./genAi.ts"

/** Request spans remembered for attempts that come late. */
const RECENT_MAX = 4096
/** Rounds that an attempt waits for its request: a long stream's failed first attempt settles long before it. */
export const WAIT_ROUNDS = 900
/** Attempts that may wait. */
export const WAITING_MAX = 8192

export interface SpanFacts {
  readonly name: string
  readonly kind: "server" | "client"
  readonly parent: Option.Option<Tracer.AnySpan>
  /** ns since the epoch. */
  readonly startTime: bigint
  readonly endTime: bigint
  readonly attributes: Iterable<readonly [string, unknown]>
  /** Error message, or null. */
  readonly failure: string | null
}

export interface SpanIds {
  readonly traceId: string
  readonly spanId: string
}

const nanos = (ms: number): bigint => BigInt(Math.round(ms * 1000)) * 1000n

export class SpanBuilder {
  readonly #emit: (span: SpanFacts) => SpanIds
  readonly #recent = new Map<string, Tracer.AnySpan>()
  #waiting: Array<{ readonly row: LedgerRow; rounds: number }> = []

  constructor(emit: (span: SpanFacts) => SpanIds) {
    this.#emit = emit
  }

  /** One round: requests first, then the attempts whose request is known or will never come. */
  add(rows: ReadonlyArray<LedgerRow>, summaries: ReadonlyArray<RequestSummary>): void {
    for (const summary of summaries) this.#request(summary)
    const waiting = this.#waiting
    this.#waiting = []
    for (const entry of waiting) this.#attempt(entry.row, entry.rounds + 1)
    for (const row of rows) this.#attempt(row, 0)
  }

  /** Emits the attempts that still wait, without their request. */
  flush(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const entry of waiting) this.#attempt(entry.row, WAIT_ROUNDS)
  }

  #request(summary: RequestSummary): void {
    const ids = this.#emit({
      name: `${summary.method} ${summary.endpoint}`,
      kind: "server",
      parent: Option.none(),
      startTime: nanos(summary.startedAt),
      endTime: nanos(summary.startedAt + summary.latencyMs),
      attributes: [
        ["http.request.method", summary.method],
        ["http.route", summary.endpoint],
        ...summary.clientStatus === 0 ? [] : [["http.response.status_code", summary.clientStatus] as const],
        ["gateway.status", summary.status],
        ["gateway.request_id", summary.requestId],
        ["gateway.requested_model", summary.requestedModel ?? ""],
        ["gateway.outcome", summary.outcome],
        ["gateway.attempts", summary.attempts],
        ["gateway.cache", summary.cache],
        ...summary.apiKeyId === null ? [] : [["gateway.api_key_id", summary.apiKeyId] as const],
        ...summary.errorCode === null ? [] : [["error.type", summary.errorCode] as const]
      ],
      failure: summary.status >= 500 ? summary.errorCode ?? String(summary.status) : null
    })
    this.#recent.set(summary.requestId, Tracer.externalSpan({ traceId: ids.traceId, spanId: ids.spanId, sampled: true }))
    if (this.#recent.size > RECENT_MAX) {
      for (const oldest of this.#recent.keys()) {
        this.#recent.delete(oldest)
        break
      }
    }
  }

  #attempt(row: LedgerRow, rounds: number): void {
    const parent = this.#recent.get(row.requestId)
    if (parent === undefined && rounds < WAIT_ROUNDS && this.#waiting.length < WAITING_MAX) {
      this.#waiting.push({ row, rounds })
      return
    }
    this.#emit({
      name: `${GenAi.operation(row.endpoint)} ${row.model}`,
      kind: "client",
      parent: Option.fromUndefinedOr(parent),
      startTime: nanos(row.startedAt),
      endTime: nanos(row.settledAt),
      attributes: GenAi.attributes(row),
      failure: GenAi.errorType(row)
    })
  }
}
