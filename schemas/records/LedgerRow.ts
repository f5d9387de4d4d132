import * as Schema from "effect/Schema"
import { Units } from "./Units.ts"

/**
 * How an attempt ended; exactly one per attempt. Only the upstream-* and gateway-timeout classes count for the
 * upstream's health; client-abort never does. `crashed` is written by the journal's replay for an attempt that
 * a killed process had started.
 */
export const Outcome = Schema.Literals([
  "completed", "client-abort", "gateway-timeout", "upstream-reset", "upstream-status", "parse-error", "policy", "crashed"
])
export type Outcome = typeof Outcome.Type

/** Where the time of one attempt went, ms. The first three end at its start, the others are counted from it. */
export const Phases = Schema.Struct({
  /** From the client's request to this attempt's turn to be tried: other attempts stand between. */
  before: Schema.Finite,
  /** Waited for a place at the target. */
  queue: Schema.Finite,
  /** The target's token, leases, limits, and the body. */
  limits: Schema.Finite,
  /** The start was recorded and the request is on a connection; null when it never was. */
  sent: Schema.NullOr(Schema.Finite),
  /** The head of the answer came; null when none did. */
  head: Schema.NullOr(Schema.Finite),
  /** The answer ended, or was given up; settling follows. */
  end: Schema.Finite
}).annotate({ identifier: "CallPhases" })
export interface Phases extends Schema.Schema.Type<typeof Phases> {}

/** One upstream attempt, one durable row. Times in ms since the epoch, durations in ms, cost in USD. */
export const LedgerRow = Schema.Struct({
  /** Idempotency key of the row: unique over nodes and restarts. */
  attemptId: Schema.String,
  requestId: Schema.String,
  /** 1 for the first wire call of the request. */
  attempt: Schema.Int,
  /** True on the attempt whose answer (or error) the client received. */
  final: Schema.Boolean,
  startedAt: Schema.Number,
  settledAt: Schema.Number,
  nodeId: Schema.String,
  endpoint: Schema.String,
  requestedModel: Schema.String,
  provider: Schema.String,
  model: Schema.String,
  connectionId: Schema.NullOr(Schema.String),
  apiKeyId: Schema.NullOr(Schema.String),
  apiKeyName: Schema.NullOr(Schema.String),
  combo: Schema.NullOr(Schema.String),
  sessionTag: Schema.NullOr(Schema.String),
  sourceFormat: Schema.String,
  targetFormat: Schema.String,
  stream: Schema.Boolean,
  outcome: Outcome,
  /** HTTP status of the upstream, or 0 when it never answered. */
  upstreamStatus: Schema.Int,
  /** The outcome as a status: 499 when the client had left, 502 when the upstream broke, 504 when time ran out, also after a 200. */
  status: Schema.Int,
  /** HTTP status that this attempt gave the client; 0 = none: another attempt spoke, or the client had left before. */
  clientStatus: Schema.Int,
  errorCode: Schema.NullOr(Schema.String),
  /** Timed-out phase of a gateway-timeout. */
  phase: Schema.NullOr(Schema.String),
  tokensIn: Schema.Number,
  tokensOut: Schema.Number,
  tokensCacheRead: Schema.Number,
  tokensCacheCreation: Schema.Number,
  tokensReasoning: Schema.Number,
  /** True when the upstream gave no usage and the tokenizer counted. */
  estimated: Schema.Boolean,
  /** What was used beside tokens; null = nothing that is counted. */
  units: Schema.NullOr(Units),
  /** True when units were used and the model had no price at all: they count as free. */
  unpriced: Schema.Boolean,
  costUsd: Schema.Number,
  latencyMs: Schema.Number,
  /** First content frame, not first byte; null when there was none. */
  ttftMs: Schema.NullOr(Schema.Number),
  /** Null on rows of older releases, and of attempts that a killed process had started. */
  phases: Schema.NullOr(Phases),
  /** Estimated tokens by which its prompt was sent shorter; null = as its client wrote it. */
  tokensCompressed: Schema.NullOr(Schema.Number),
  /** The outbound proxy that it left by, or was to leave by; null = it went direct, or is of an older release, or a killed process had started it. */
  proxyId: Schema.NullOr(Schema.String)
})
export interface LedgerRow extends Schema.Schema.Type<typeof LedgerRow> {}

/** What is known when an attempt starts; enough to write a `crashed` row for it. */
export type AttemptStart = Pick<LedgerRow,
  | "attemptId" | "requestId" | "attempt" | "startedAt" | "nodeId" | "endpoint" | "requestedModel" | "provider" | "model"
  | "connectionId" | "apiKeyId" | "apiKeyName" | "combo" | "sessionTag" | "sourceFormat" | "targetFormat" | "stream">
