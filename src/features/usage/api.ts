import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads } from "#schemas/api/Access.ts"
import { queryInteger, text } from "#schemas/api/fields.ts"
import { Units } from "#schemas/records/Units.ts"
import { QuotaWindowView } from "#src/features/quotas/ports/windowView.ts"

const opt = Schema.optionalKey
const record = <S extends Schema.Top>(value: S) => Schema.Record(Schema.String, value)

export const Totals = Schema.Struct({
  requests: Schema.Number, promptTokens: Schema.Number, completionTokens: Schema.Number, units: Schema.NullOr(Units),
  cost: Schema.Number
})
const Group = Schema.Struct({ ...Totals.fields, lastUsed: Schema.NullOr(Schema.String) })

/** GET /api/usage/history. */
export const History = Schema.Struct({
  totalRequests: Schema.Number,
  totalPromptTokens: Schema.Number,
  totalCompletionTokens: Schema.Number,
  totalUnits: Schema.NullOr(Units),
  totalCost: Schema.Number,
  byProvider: record(Totals),
  byModel: record(Schema.Struct({ ...Group.fields, rawModel: Schema.String, provider: Schema.String })),
  byAccount: record(Schema.Struct({ ...Group.fields, provider: Schema.NullOr(Schema.String), connectionId: Schema.String })),
  byApiKey: record(Schema.Struct({ ...Group.fields, apiKeyId: Schema.NullOr(Schema.String), name: Schema.String })),
  last10Minutes: Schema.Array(Totals),
  pending: Schema.Struct({ byModel: record(Schema.Int), byAccount: record(Schema.Int) }),
  activeRequests: Schema.Array(Schema.Struct({
    model: Schema.String, provider: Schema.String, account: Schema.String, count: Schema.Int
  }))
})
export interface History extends Schema.Schema.Type<typeof History> {}

/** One row of the call log: one upstream attempt. */
export const CallLog = Schema.Struct({
  id: Schema.String,
  requestId: Schema.String,
  timestamp: Schema.String,
  method: Schema.String,
  path: Schema.String,
  /** The outcome: 499 when the client left, 502 when the upstream broke, 504 when time ran out, also after a 200. */
  status: Schema.Int,
  /** HTTP status the client was given; null when this attempt gave none. */
  clientStatus: Schema.NullOr(Schema.Int),
  model: Schema.String,
  requestedModel: Schema.String,
  provider: Schema.String,
  account: Schema.NullOr(Schema.String),
  connectionId: Schema.NullOr(Schema.String),
  duration: Schema.Number,
  ttft: Schema.NullOr(Schema.Number),
  tokensIn: Schema.Number,
  tokensOut: Schema.Number,
  tokensCacheRead: Schema.Number,
  tokensCacheCreation: Schema.Number,
  tokensReasoning: Schema.Number,
  tokens_compressed: Schema.NullOr(Schema.Number),
  /** What was used beside tokens. */
  units: Schema.NullOr(Units),
  /** Units were used and the model had no price: they count as free. */
  unpriced: Schema.Boolean,
  estimated: Schema.Boolean,
  cost: Schema.Number,
  outcome: Schema.String,
  attempt: Schema.Int,
  cacheSource: Schema.Literals(["upstream", "semantic"]),
  requestType: Schema.String,
  sourceFormat: Schema.String,
  targetFormat: Schema.String,
  apiKeyId: Schema.NullOr(Schema.String),
  apiKeyName: Schema.NullOr(Schema.String),
  comboName: Schema.NullOr(Schema.String),
  comboStepId: Schema.NullOr(Schema.String),
  comboExecutionKey: Schema.NullOr(Schema.String),
  error: Schema.NullOr(Schema.String),
  detailState: Schema.Literals(["none", "ready", "missing", "legacy-inline"]),
  hasRequestBody: Schema.Boolean,
  hasResponseBody: Schema.Boolean,
  hasPipelineDetails: Schema.Boolean,
  requestSummary: Schema.NullOr(Schema.String),
  session_tag: Schema.NullOr(Schema.String)
}).annotate({ identifier: "CallLog" })
export interface CallLog extends Schema.Schema.Type<typeof CallLog> {}

const lines = { success: Schema.Array(Schema.String) }

const LatencyEntry = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  key: Schema.String,
  totalRequests: Schema.Int,
  successfulRequests: Schema.Int,
  successRate: Schema.Number,
  avgLatencyMs: Schema.Number,
  p50LatencyMs: Schema.Number,
  p95LatencyMs: Schema.Number,
  p99LatencyMs: Schema.Number,
  latencyStdDev: Schema.Number,
  windowHours: Schema.Number
})
export interface LatencyEntry extends Schema.Schema.Type<typeof LatencyEntry> {}

const TargetHealth = Schema.Struct({
  executionKey: Schema.String,
  stepId: Schema.String,
  model: Schema.String,
  provider: Schema.String,
  connectionId: Schema.NullOr(Schema.String),
  label: Schema.NullOr(Schema.String),
  requests: Schema.Int,
  /** Of attempts that count for the upstream's health; null without one. */
  successRate: Schema.NullOr(Schema.Number),
  /** Of successes. */
  avgLatencyMs: Schema.NullOr(Schema.Number),
  /** HTTP status of the newest attempt. */
  lastStatus: Schema.NullOr(Schema.Int),
  lastUsedAt: Schema.NullOr(Schema.String),
  /** Of its tightest quota window; null while none is known. */
  quotaRemainingPct: Schema.NullOr(Schema.Number),
  quotaIsExhausted: Schema.Boolean,
  /** Of that window over the range; null with fewer than two snapshots. */
  quotaTrend: Schema.NullOr(Schema.Literals(["improving", "stable", "declining"])),
  /** `connection` or `model`: what that window counts. */
  quotaScope: Schema.NullOr(Schema.String)
})
export interface TargetHealth extends Schema.Schema.Type<typeof TargetHealth> {}

const ComboHealth = Schema.Struct({
  comboId: Schema.String,
  comboName: Schema.String,
  strategy: Schema.String,
  models: Schema.Array(Schema.String),
  targetHealth: Schema.Array(TargetHealth),
  /** Null while no quota of its targets is known. */
  quotaHealth: Schema.NullOr(Schema.Struct({
    /** Targets whose quota is known, and those of them that are used up. */
    known: Schema.Int,
    exhausted: Schema.Int,
    lowestRemainingPct: Schema.Number,
    averageRemainingPct: Schema.Number
  })),
  /** 0 = every target has as many requests, 1 = one has them all. */
  usageSkew: Schema.Number
})
export interface ComboHealth extends Schema.Schema.Type<typeof ComboHealth> {}

export const Analytics = Schema.Struct({
  range: Schema.String,
  summary: Schema.Struct({
    ...Totals.fields, successRate: Schema.Number, avgLatencyMs: Schema.Number, models: Schema.Int, providers: Schema.Int
  }),
  byModel: Schema.Array(Schema.Struct({ model: Schema.String, provider: Schema.String, ...Totals.fields })),
  byProvider: Schema.Array(Schema.Struct({ provider: Schema.String, ...Totals.fields })),
  byApiKey: Schema.Array(Schema.Struct({ apiKeyId: Schema.NullOr(Schema.String), name: Schema.String, ...Totals.fields })),
  byAccount: Schema.Array(Schema.Struct({ connectionId: Schema.String, account: Schema.String, ...Totals.fields })),
  dailyTrend: Schema.Array(Schema.Struct({ date: Schema.String, ...Totals.fields })),
  /** Requests per day, for a calendar view. */
  activityMap: record(Schema.Number),
  /** Requests per weekday, Sunday first. */
  weeklyPattern: Schema.Array(Schema.Struct({ day: Schema.Int, requests: Schema.Number }))
})
export interface Analytics extends Schema.Schema.Type<typeof Analytics> {}

/** Reads of the ledger. */
export const UsageGroup = HttpApiGroup.make("usage").add(
  HttpApiEndpoint.get("history", "/api/usage/history", { success: History })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Totals and breakdowns"),
  HttpApiEndpoint.get("logs", "/api/usage/logs", lines)
    .annotate(Access, reads).annotate(OpenApi.Summary, "The last 200 calls as text lines"),
  HttpApiEndpoint.get("requestLogs", "/api/usage/request-logs", lines)
    .annotate(Access, reads).annotate(OpenApi.Summary, "As /api/usage/logs"),
  HttpApiEndpoint.get("callLogs", "/api/usage/call-logs", {
    query: {
      status: opt(text(1, 20)),
      model: opt(text(1, 240)),
      provider: opt(text(1, 120)),
      account: opt(text(1, 240)),
      apiKey: opt(text(1, 240)),
      combo: opt(text(1, 240)),
      search: opt(text(1, 240)),
      limit: opt(queryInteger(1, 500))
    },
    success: Schema.Array(CallLog)
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Calls, newest first"),
  HttpApiEndpoint.get("callLog", "/api/usage/call-logs/:id", {
    params: { id: Schema.String },
    success: Schema.Struct({
      ...CallLog.fields,
      requestBody: Schema.Json,
      responseBody: Schema.Json,
      pipelineDetails: Schema.Json,
      attempts: Schema.Array(CallLog)
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "One call with all its attempts; by attempt id or request id"),
  HttpApiEndpoint.get("analytics", "/api/usage/analytics", {
    query: { range: opt(Schema.Literals(["1h", "24h", "1d", "7d", "30d", "90d", "all"])) },
    success: Analytics
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Breakdowns and trends over a range (default 7d)"),
  HttpApiEndpoint.get("latency", "/api/usage/model-latency-stats", {
    query: {
      windowHours: opt(Schema.FiniteFromString.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(720))),
      minSamples: opt(queryInteger(1, 10_000)),
      maxRows: opt(queryInteger(1, 100_000)),
      provider: opt(text(1, 100)),
      model: opt(text(1, 200))
    },
    success: Schema.Struct({
      windowHours: Schema.Number,
      minSamples: Schema.Int,
      maxRows: Schema.Int,
      count: Schema.Int,
      entries: Schema.Array(LatencyEntry)
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Latency percentiles and success rate per model"),
  HttpApiEndpoint.get("comboHealth", "/api/usage/combo-health", {
    query: { range: opt(Schema.Literals(["1h", "24h", "7d", "30d"])), comboId: opt(text(1, 200)) },
    success: Schema.Struct({ timeRange: Schema.String, combos: Schema.Array(ComboHealth) })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Attempts of each combo by target over a range (default 24h)"),
  HttpApiEndpoint.get("reconciliation", "/api/usage/reconciliation", {
    success: Schema.Struct({
      started: Schema.Int,
      settled: Schema.Int,
      journaled: Schema.Int,
      stored: Schema.Int,
      live: Schema.Int,
      gap: Schema.Int,
      oldestPendingMs: Schema.Number,
      lastError: Schema.NullOr(Schema.String),
      nodeId: Schema.String,
      /** Rows of this node in the record store, per outcome; null while it cannot be read. */
      rows: Schema.NullOr(record(Schema.Int))
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "The ledger invariant: started = settled + live, gap 0"),
  HttpApiEndpoint.get("connection", "/api/usage/:connectionId", {
    params: { connectionId: Schema.String },
    success: Schema.Struct({ plan: Schema.NullOr(Schema.String), quotas: record(QuotaWindowView), message: opt(Schema.String) })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Provider quota snapshot of a connection")
).annotateMerge(OpenApi.annotations({ title: "Usage", description: "Reads of the ledger: every upstream attempt has one row." }))
