import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads } from "#schemas/api/Access.ts"
import { queryInteger, text } from "#schemas/api/fields.ts"

const opt = Schema.optionalKey
const record = <S extends Schema.Top>(value: S) => Schema.Record(Schema.String, value)

/** Longest window of these reads: 30 days. */
const windowMsMax = 2_592_000_000

const CacheJudgement = {
  verdict: Schema.Literals(["healthy", "degraded", "thrash", "no-data"]),
  /** Attempts, with what they wrote to the cache and read from it. */
  totals: Schema.Struct({ requests: Schema.Int, cacheWriteTokens: Schema.Number, cacheReadTokens: Schema.Number }),
  /** Tokens read for each token written; null while none was written. */
  readWriteRatio: Schema.NullOr(Schema.Number),
  /** Tokens written for each token read; null while none was read. */
  writeReadRatio: Schema.NullOr(Schema.Number),
  /** Tokens of one write; null while nothing was written. */
  writeSize: Schema.NullOr(Schema.Struct({
    p50: Schema.Number, p90: Schema.Number, p95: Schema.Number, p99: Schema.Number, max: Schema.Number
  }).annotate({ identifier: "SizePercentiles" }))
}

/** GET /api/usage/cache-health. */
export const CacheHealth = Schema.Struct({
  range: Schema.String,
  model: Schema.NullOr(Schema.String),
  ...CacheJudgement,
  byModel: Schema.Array(Schema.Struct({ provider: Schema.String, model: Schema.String, ...CacheJudgement })),
  generatedAt: Schema.String
}).annotate({ identifier: "CacheHealth" })
export interface CacheHealth extends Schema.Schema.Type<typeof CacheHealth> {}

/** Outcomes of routed requests: counts and percentiles over a time window of the ledger. */
export const AnalyticsGroup = HttpApiGroup.make("analytics").add(
  HttpApiEndpoint.get("telemetry", "/api/telemetry/summary", {
    query: { windowMs: opt(queryInteger(1_000, windowMsMax)) },
    success: Schema.Struct({
      windowMs: Schema.Int,
      /** Latency in ms of successes, or of all attempts while none succeeded; count = attempts that it is of. */
      providers: record(Schema.Struct({ p50: Schema.Number, p95: Schema.Number, p99: Schema.Number, count: Schema.Int }))
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Latency percentiles per provider (default: the last 24 hours)"),
  HttpApiEndpoint.get("providerMetrics", "/api/provider-metrics", {
    query: { windowHours: opt(Schema.FiniteFromString.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(720))) },
    success: Schema.Struct({
      windowHours: Schema.Number,
      providers: record(Schema.Struct({
        requests: Schema.Int,
        successes: Schema.Int,
        /** Timeouts, resets and error statuses of the upstream; a client that left counts nowhere. */
        failures: Schema.Int,
        successRate: Schema.NullOr(Schema.Number),
        avgLatencyMs: Schema.Number,
        p50LatencyMs: Schema.Number,
        p95LatencyMs: Schema.Number,
        p99LatencyMs: Schema.Number,
        lastUsedAt: Schema.String
      }))
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Attempts, success rate and latency per provider (default: the last 24 hours)"),
  HttpApiEndpoint.get("autoRouting", "/api/analytics/auto-routing", {
    query: { days: opt(queryInteger(1, 30)) },
    success: Schema.Struct({
      window: Schema.String,
      totalCalls: Schema.Int,
      strategyBreakdown: record(Schema.Int),
      tierBreakdown: record(Schema.Int),
      topProviders: Schema.Array(Schema.Struct({ provider: Schema.String, calls: Schema.Int, avgLatencyMs: Schema.Number }))
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Requests of automatic routing by strategy, tier and provider (default: the last 24 hours)"),
  HttpApiEndpoint.get("cacheHealth", "/api/usage/cache-health", {
    query: {
      range: opt(Schema.Literals(["1h", "24h", "7d", "30d"])),
      /** Name of a model, as `byModel` has it. */
      model: opt(text(1, 200))
    },
    success: CacheHealth
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Whether the vendors' prompt caches are worth what is written to them (default: the last 24 hours)")
    .annotate(OpenApi.Description, "healthy: at least three tokens are read for each one written. degraded: fewer. thrash: ten attempts or more wrote, and fewer tokens are read than written."),
  HttpApiEndpoint.get("diversity", "/api/analytics/diversity", {
    success: Schema.Struct({
      /** Bits. */
      shannonEntropy: Schema.Number,
      /** Bits: what it would be if every used provider had the same share. */
      maxEntropy: Schema.Number,
      /** shannonEntropy / maxEntropy; 0 with fewer than two providers. */
      diversityRatio: Schema.Number,
      providerUsage: record(Schema.Struct({ count: Schema.Int, share: Schema.Number })),
      warnings: Schema.Array(Schema.String)
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "How evenly the answers of the last 24 hours came from the providers")
).annotateMerge(OpenApi.annotations({ title: "Analytics", description: "What became of routed requests: counts and percentiles of the ledger." }))
