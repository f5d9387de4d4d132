import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads } from "#schemas/api/Access.ts"
import { isoTime, queryInteger, text } from "#schemas/api/fields.ts"
import { Outcome, Phases } from "#schemas/records/LedgerRow.ts"
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
  /** Where its time went, ms; null on rows of older releases. */
  phases: Schema.NullOr(Phases),
  requestSummary: Schema.NullOr(Schema.String),
  session_tag: Schema.NullOr(Schema.String),
  /** The outbound proxy that it left by; null = it went direct. */
  proxyId: Schema.NullOr(Schema.String)
}).annotate({ identifier: "CallLog" })
export interface CallLog extends Schema.Schema.Type<typeof CallLog> {}

/** What call logs can be searched by; every filter that is given must fit. */
export const callFilters = {
  /** A number, a class such as `5xx`, `success` or `error`. */
  status: opt(Schema.String.check(Schema.isPattern(/^(?:[1-5]xx|\d{1,3}|success|error)$/, { message: "Expected a status such as 429, a class such as 5xx, success or error" }))),
  /** A part of the model that was asked for or asked. */
  model: opt(text(1, 240)),
  provider: opt(text(1, 120)),
  /** A part of the connection's name, or its id. */
  account: opt(text(1, 240)),
  /** A part of the key's name, or its id. */
  apiKey: opt(text(1, 240)),
  combo: opt(text(1, 240)),
  outcome: opt(Outcome),
  /** An error code. */
  error: opt(text(1, 120)),
  requestId: opt(text(1, 240)),
  session: opt(text(1, 240)),
  minDurationMs: opt(queryInteger(0, 86_400_000)),
  /** A part of an id, a name, a model, an error code or a session. */
  search: opt(text(1, 240)),
  /** `true`: names are compared as a whole, and `model` is the one that was asked. */
  exact: opt(Schema.Literals(["true", "false"])),
  /** Calls that began at this time or later. */
  from: opt(isoTime),
  /** Calls that began before this time. */
  to: opt(isoTime)
}

/** One call with all its attempts. */
export const CallDetail = Schema.Struct({
  ...CallLog.fields,
  requestBody: Schema.Json,
  responseBody: Schema.Json,
  pipelineDetails: Schema.Json,
  attempts: Schema.Array(CallLog)
}).annotate({ identifier: "CallDetail" })

const Facet = Schema.Array(Schema.Struct({
  value: Schema.String,
  /** Name of a key or a connection; null for others, and for one that is gone. */
  label: Schema.NullOr(Schema.String),
  count: Schema.Int
}).annotate({ identifier: "Facet" }))

/** How many calls have which value. */
export const CallFacets = Schema.Struct({
  /** Calls that fit, among those that were looked at. */
  count: Schema.Int,
  looked: Schema.Int,
  /** False when the range holds more calls than one look reads: the newest were counted. */
  complete: Schema.Boolean,
  /** Each counts what fits all other filters, so that another value of it can be chosen. */
  facets: Schema.Struct({
    provider: Facet, model: Facet, apiKey: Facet, connection: Facet, combo: Facet, outcome: Facet, status: Facet, error: Facet
  }),
  histogram: Schema.Struct({
    from: Schema.String, to: Schema.String, bucketMs: Schema.Int,
    /** Those with calls, oldest first. */
    buckets: Schema.Array(Schema.Struct({ start: Schema.String, count: Schema.Int, errors: Schema.Int }))
  })
}).annotate({ identifier: "CallFacets" })
export interface CallFacets extends Schema.Schema.Type<typeof CallFacets> {}

const Percentiles = Schema.NullOr(Schema.Struct({ p50: Schema.Number, p95: Schema.Number, p99: Schema.Number }).annotate({ identifier: "Percentiles" }))

/** Attempts of a stretch of time. */
const Slice = Schema.Struct({
  ...Totals.fields,
  successes: Schema.Int,
  /** Outcomes that count against the upstream: a client that left is in neither count. */
  failures: Schema.Int,
  /** Attempts whose tokens are an estimate. */
  estimated: Schema.Int,
  /** Attempts without a known price: they count as free. */
  unpriced: Schema.Int,
  /** Mean duration of all attempts, ms. */
  avgMs: Schema.NullOr(Schema.Number),
  /** Of successes, ms. */
  latencyMs: Percentiles,
  /** To the first of the answer, ms. */
  firstTokenMs: Percentiles,
  /** What the gateway itself took, ms: waiting for a place, limits and settling. */
  ownMs: Percentiles
}).annotate({ identifier: "UsageSlice" })

const bucketUnits = ["minute", "hour", "day", "week", "month"] as const

/** GET /api/usage/trend. */
export const Trend = Schema.Struct({
  from: Schema.String,
  to: Schema.String,
  zone: Schema.String,
  bucket: Schema.Literals(bucketUnits),
  total: Slice,
  /** Without a gap, oldest first. The first may begin before `from` and the last end after `to`: they are incomplete. */
  buckets: Schema.Array(Schema.Struct({ start: Schema.String, end: Schema.String, ...Slice.fields })),
  /** As much time before `from`. */
  previous: Schema.Struct({ from: Schema.String, to: Schema.String, total: Slice })
}).annotate({ identifier: "UsageTrend" })
export interface Trend extends Schema.Schema.Type<typeof Trend> {}

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
  /** Days of UTC; the newest 380 of a longer range. */
  dailyTrend: Schema.Array(Schema.Struct({ date: Schema.String, ...Totals.fields })),
  /** Requests per day, for a calendar view. */
  activityMap: record(Schema.Number),
  /** Requests per weekday, Sunday first. */
  weeklyPattern: Schema.Array(Schema.Struct({ day: Schema.Int, requests: Schema.Number }))
})
export interface Analytics extends Schema.Schema.Type<typeof Analytics> {}

/** A page of calls. */
export const page = {
  /** `x-next-cursor` of the page before. */
  before: opt(Schema.String.check(Schema.isPattern(/^\d{1,15}\..{1,240}$/, { message: "Expected the x-next-cursor of another page" }))),
  limit: opt(queryInteger(1, 500))
}

/** Reads of the ledger. */
export const UsageGroup = HttpApiGroup.make("usage").add(
  HttpApiEndpoint.get("history", "/api/usage/history", { success: History })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Totals and breakdowns"),
  HttpApiEndpoint.get("logs", "/api/usage/logs", lines)
    .annotate(Access, reads).annotate(OpenApi.Summary, "The last 200 calls as text lines"),
  HttpApiEndpoint.get("requestLogs", "/api/usage/request-logs", lines)
    .annotate(Access, reads).annotate(OpenApi.Summary, "As /api/usage/logs"),
  HttpApiEndpoint.get("callLogs", "/api/usage/call-logs", {
    query: { ...callFilters, ...page },
    success: [HttpApiSchema.WithHeaders(Schema.Array(CallLog), { "x-next-cursor": opt(Schema.String) })]
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Calls, newest first")
    .annotate(OpenApi.Description, "`x-next-cursor` continues behind the page with `before`; calls that come meanwhile change no page. Without it there is no more. "
      + "A page may be short and still go on: one look reads 20,000 calls."),
  HttpApiEndpoint.get("callFacets", "/api/usage/call-logs/facets", { query: callFilters, success: CallFacets })
    .annotate(Access, reads).annotate(OpenApi.Summary, "How many calls have which value, and when they began")
    .annotate(OpenApi.Description, "Takes the filters of the call log; the range is the last 24 hours unless `from` says otherwise. Counts the newest 20,000 calls of it."),
  HttpApiEndpoint.get("callLog", "/api/usage/call-logs/:id", {
    params: { id: Schema.String },
    success: CallDetail
  }).annotate(Access, reads).annotate(OpenApi.Summary, "One call with all its attempts; by attempt id or request id")
    .annotate(OpenApi.Description, "`requestBody` and `responseBody` stay null, and `detailState` is none: `GET /api/usage/call-logs/{id}/bodies` has what is kept, because each reading of it is audited."),
  HttpApiEndpoint.get("analytics", "/api/usage/analytics", {
    query: {
      range: opt(Schema.Literals(["1h", "24h", "1d", "7d", "30d", "90d", "all"])),
      /** Attempts that began at this time or later; in place of `range`. */
      from: opt(isoTime),
      /** Attempts that began before this time. */
      to: opt(isoTime)
    },
    success: Analytics
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Breakdowns and trends over a range (default 7d)"),
  HttpApiEndpoint.get("trend", "/api/usage/trend", {
    query: {
      /** Default: seven days before `to`. */
      from: opt(isoTime),
      /** Default: now. */
      to: opt(isoTime),
      bucket: opt(Schema.Literals(bucketUnits)),
      /** IANA name of the zone in which hours, days, weeks and months begin; default UTC. */
      zone: opt(text(1, 60)),
      provider: opt(text(1, 120)),
      model: opt(text(1, 240)),
      /** Id of a connection. */
      connection: opt(text(1, 240)),
      /** Id of a key. */
      apiKey: opt(text(1, 240))
    },
    success: Trend
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Use and cost by minute, hour, day, week or month of a zone, with the period before")
    .annotate(OpenApi.Description, "Counts every attempt of the range. At most 400 buckets."),
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
