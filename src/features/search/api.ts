import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads } from "#schemas/api/Access.ts"

const Provider = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  searchTypes: Schema.Array(Schema.Literals(["web", "news"])),
  /** Of one call. */
  maxResults: Schema.Int,
  /** Null without a price. */
  costPerQueryUsd: Schema.NullOr(Schema.Number),
  /** Fields of a search that it honours. */
  filters: Schema.Array(Schema.String),
  keyless: Schema.Boolean,
  /** It has an active connection. */
  configured: Schema.Boolean,
  connections: Schema.Int
})

const Row = Schema.Struct({
  provider: Schema.String,
  /** Null for what the cache answered. */
  connectionId: Schema.NullOr(Schema.String),
  requests: Schema.Number,
  attempts: Schema.Number,
  cached: Schema.Number,
  errors: Schema.Number,
  costUsd: Schema.Number,
  avgDurationMs: Schema.Number
})

/** Searches of the web, for operators. */
export const SearchGroup = HttpApiGroup.make("search").add(
  HttpApiEndpoint.get("providers", "/api/search/providers", { success: Schema.Struct({ providers: Schema.Array(Provider) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Every search provider: what it can, what it costs, and whether it is connected"),
  HttpApiEndpoint.get("stats", "/api/search/stats", {
    success: Schema.Struct({
      total: Schema.Number,
      today: Schema.Number,
      cached: Schema.Number,
      errors: Schema.Number,
      totalCostUsd: Schema.Number,
      cacheHitRate: Schema.Number,
      avgDurationMs: Schema.Number,
      rows: Schema.Array(Row),
      last24h: Schema.Array(Schema.Struct({ hour: Schema.String, count: Schema.Number, cached: Schema.Number, errors: Schema.Number, costUsd: Schema.Number }))
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "What searches came to, by provider and connection, and by hour")
).annotateMerge(OpenApi.annotations({ title: "Search", description: "Providers of searches, and what all keys searched with them." }))
