/**
 * What the request path tells the outside world about itself: synchronous, allocation-poor calls that never throw and never
 * wait. Counters are updated in place; spans, log lines and exports are made later, off the hot path, in bounded batches.
 */
import * as Context from "effect/Context"
import type { LedgerRow, Outcome } from "#schemas/records/LedgerRow.ts"

/** How one client request ended; exactly one per `requestStarted`. */
export interface RequestSummary {
  readonly requestId: string
  readonly method: string
  /** Route pattern (`/v1/chat/completions`), never the raw path: it is a label. */
  readonly endpoint: string
  /** As the client asked; null when the request was refused before its model was read. */
  readonly requestedModel: string | null
  /** Target that answered; null when none did. */
  readonly provider: string | null
  readonly model: string | null
  readonly apiKeyId: string | null
  /** The outcome as a status: 499 when the client had left, 502 or 504 when the answer broke, also after a 200. */
  readonly status: number
  /** HTTP status the client was given; 0 when it had left before. */
  readonly clientStatus: number
  readonly outcome: Outcome
  /** Public error code, or null. */
  readonly errorCode: string | null
  readonly stream: boolean
  /** Wire attempts made. */
  readonly attempts: number
  readonly cache: "hit" | "miss" | "off"
  /** ms since the epoch. */
  readonly startedAt: number
  /** ms, socket to socket. */
  readonly latencyMs: number
  /** ms to the first content frame; null when there was none. */
  readonly ttftMs: number | null
  /** Body bytes given to the client. */
  readonly bytesOut: number
  /** Which targets failed or were skipped, why and until when, in one line; absent when the first one answered, or none was looked for. */
  readonly route?: string
}

export class Telemetry extends Context.Service<Telemetry, {
  readonly requestStarted: (endpoint: string, stream: boolean) => void
  /** Every settled attempt, beside `Ledger.settle`. */
  readonly attemptSettled: (row: LedgerRow) => void
  readonly requestSettled: (summary: RequestSummary) => void
  /** The metrics of this process in Prometheus text format 0.0.4. */
  readonly render: () => string
  /** One of several processes on a port: the metrics of all of them; null = they cannot be had now. Answers exactly once. */
  readonly scrape?: (answer: (text: string | null) => void) => void
}>()("gateway/ports/Telemetry") {}
