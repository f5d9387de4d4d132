import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads } from "#schemas/api/Access.ts"
import { text } from "#schemas/api/fields.ts"
import { QuotaStatus, QuotaWindowView } from "./ports/windowView.ts"

const opt = Schema.optionalKey

/** `expiring` = 15 minutes or less. */
export const TokenStatus = Schema.Literals(["valid", "expiring", "expired", "refreshing"])
export type TokenStatus = typeof TokenStatus.Type

/** The tightest window of a connection; its fields are null while no upstream reported any. */
const Row = Schema.Struct({
  name: Schema.String,
  provider: Schema.String,
  connectionId: Schema.String,
  window: Schema.NullOr(Schema.String),
  quotaUsed: Schema.NullOr(Schema.Number),
  quotaTotal: Schema.NullOr(Schema.Number),
  percentRemaining: Schema.NullOr(Schema.Number),
  resetAt: Schema.NullOr(Schema.String),
  status: Schema.NullOr(QuotaStatus),
  tokenStatus: TokenStatus
})
export interface QuotaRow extends Schema.Schema.Type<typeof Row> {}

const Health = Schema.Struct({
  /** Signed-in connections that are active. */
  total: Schema.Int,
  healthy: Schema.Int,
  /** Their token is over, or its renewal was refused. */
  errored: Schema.Int,
  /** Their token ends within 15 minutes, or its last renewal failed. */
  warning: Schema.Int,
  /** End of the last round of the background check; null before the first. */
  lastCheckAt: Schema.NullOr(Schema.String),
  status: Schema.Literals(["healthy", "warning", "error", "disabled"])
})
export interface TokenHealthView extends Schema.Schema.Type<typeof Health> {}

const filters = { provider: opt(text(1, 200)), connectionId: opt(text(1, 200)) }

/** All windows of a connection, and the bounds that its operator set. */
const Limits = Schema.Struct({
  connectionId: Schema.String,
  name: Schema.String,
  provider: Schema.String,
  plan: Schema.NullOr(Schema.String),
  isActive: Schema.Boolean,
  /** By window; empty while no upstream reported any. */
  quotas: Schema.Record(Schema.String, QuotaWindowView),
  /** As they are stored: requests and tokens a minute and a day; empty without any. */
  overrides: Schema.Record(Schema.String, Schema.Json),
  /** Calls at once; null = no cap. */
  maxConcurrent: Schema.NullOr(Schema.Int)
})

const utilizationRanges = ["1h", "24h", "7d", "30d"] as const

/** One window of one connection over a time. */
const Series = Schema.Struct({
  connectionId: Schema.String,
  provider: Schema.String,
  window: Schema.String,
  /** The model that the window counts; null when it counts the whole connection. */
  model: Schema.NullOr(Schema.String),
  /** Buckets in which it was read, oldest first. */
  points: Schema.Array(Schema.Struct({
    start: Schema.String,
    /** The newest of the bucket. */
    remainingPercentage: Schema.Number,
    lowestPercentage: Schema.Number,
    /** It was used up at some time of the bucket. */
    isExhausted: Schema.Boolean,
    readings: Schema.Int
  }))
}).annotate({ identifier: "QuotaSeries" })
export interface QuotaSeries extends Schema.Schema.Type<typeof Series> {}

/** Quotas of the connections as their upstreams report them, and the health of their tokens. */
export const QuotasGroup = HttpApiGroup.make("quotas").add(
  HttpApiEndpoint.get("list", "/api/usage/quota", {
    query: filters,
    success: Schema.Struct({
      providers: Schema.Array(Row),
      meta: Schema.Struct({
        generatedAt: Schema.String,
        filters: Schema.Struct({ provider: Schema.NullOr(Schema.String), connectionId: Schema.NullOr(Schema.String) }),
        totalProviders: Schema.Int
      })
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "What is left of each connection's quota, and how its token is"),
  HttpApiEndpoint.get("limits", "/api/usage/provider-limits", {
    query: filters,
    success: Schema.Struct({
      generatedAt: Schema.String,
      /** Whether endpoints of vendors are read for it, and how often. */
      autoRefresh: Schema.Struct({ enabled: Schema.Boolean, intervalSeconds: Schema.NullOr(Schema.Number) }),
      connections: Schema.Array(Limits)
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Every quota window of each connection, and the operator's own bounds"),
  HttpApiEndpoint.get("utilization", "/api/usage/utilization", {
    query: { ...filters, range: opt(Schema.Literals(utilizationRanges)) },
    success: Schema.Struct({
      from: Schema.String,
      to: Schema.String,
      bucketMs: Schema.Int,
      /** False when the range holds more readings than are looked at: the newest were. */
      complete: Schema.Boolean,
      series: Schema.Array(Series)
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "How much of each quota window was left over a range (default 24h)"),
  HttpApiEndpoint.get("tokenHealth", "/api/token-health", { success: Health })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Tokens of signed-in connections: how many are well, and when they were looked at")
).annotateMerge(OpenApi.annotations({ title: "Quotas", description: "Quota windows from the headers of upstreams, and tokens of signed-in connections." }))
