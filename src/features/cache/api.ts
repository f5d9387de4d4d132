import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { integer, queryInteger, text } from "#schemas/api/fields.ts"

const opt = Schema.optionalKey
const ok = Schema.Literal(true)

/** What the vendors' own prompt caches did for calls of this gateway, from the ledger. */
const PromptCache = Schema.Struct({
  totalRequests: Schema.Number,
  /** Calls that read from or wrote to a vendor's prompt cache. */
  requestsWithCacheControl: Schema.Number,
  totalInputTokens: Schema.Number,
  totalCachedTokens: Schema.Number,
  totalCacheCreationTokens: Schema.Number,
  /** Input tokens that were read from a cache. */
  tokensSaved: Schema.Number,
  /** USD: cached tokens at the difference of the input and the cached price. */
  estimatedCostSaved: Schema.Number,
  byProvider: Schema.Record(Schema.String, Schema.Struct({
    requests: Schema.Number, inputTokens: Schema.Number, cachedTokens: Schema.Number, cacheCreationTokens: Schema.Number
  })),
  byStrategy: Schema.Record(Schema.String, Schema.Number)
})
export interface PromptCacheFigures extends Schema.Schema.Type<typeof PromptCache> {}

const idempotency = Schema.Struct({ activeKeys: Schema.Int, windowMs: Schema.Number })

const Overview = Schema.Struct({
  semanticCache: Schema.Struct({
    memoryEntries: Schema.Int,
    dbEntries: Schema.Int,
    /** Of this node since it started, as misses, hitRate and tokensSaved. */
    hits: Schema.Int,
    misses: Schema.Int,
    /** `<n>%`. */
    hitRate: Schema.String,
    tokensSaved: Schema.Number
  }),
  promptCache: Schema.NullOr(PromptCache),
  trend: Schema.Array(Schema.Struct({
    /** ISO time of the hour's beginning. */
    hour: Schema.String,
    requests: Schema.Number,
    cachedRequests: Schema.Number,
    inputTokens: Schema.Number,
    cachedTokens: Schema.Number
  })),
  idempotency,
  config: Schema.Struct({ semanticCacheEnabled: Schema.Boolean })
})

const Entry = Schema.Struct({
  id: Schema.String,
  signature: Schema.String,
  model: Schema.String,
  hit_count: Schema.Int,
  tokens_saved: Schema.Number,
  created_at: Schema.String,
  expires_at: Schema.String
})

/** How answers are cached; what is absent in a change stays. */
const config = {
  semanticCacheEnabled: Schema.Boolean,
  /** Answers in memory. */
  semanticCacheMaxSize: integer(0, 1_000_000),
  /** ms. */
  semanticCacheTTL: integer(1_000, 2_592_000_000),
  promptCacheEnabled: Schema.Boolean,
  promptCacheStrategy: Schema.Literals(["auto", "system-only", "manual"]),
  alwaysPreserveClientCache: Schema.Literals(["auto", "always", "never"]),
  /** ms; 0 = off. */
  idempotencyWindowMs: integer(0, 600_000)
}
const Config = Schema.Struct(config)
export interface CacheConfigView extends Schema.Schema.Type<typeof Config> {}

export const CacheConfigChange = Schema.Struct({
  semanticCacheEnabled: opt(config.semanticCacheEnabled),
  semanticCacheMaxSize: opt(config.semanticCacheMaxSize),
  semanticCacheTTL: opt(config.semanticCacheTTL),
  promptCacheEnabled: opt(config.promptCacheEnabled),
  promptCacheStrategy: opt(config.promptCacheStrategy),
  alwaysPreserveClientCache: opt(config.alwaysPreserveClientCache),
  idempotencyWindowMs: opt(config.idempotencyWindowMs)
})
export interface CacheConfigChange extends Schema.Schema.Type<typeof CacheConfigChange> {}

const name = { model: opt(text(1, 400)), signature: opt(text(1, 300)) }
const entries = "/api/cache/entries"
const stats = "/api/cache/stats"
const settings = "/api/settings/cache-config"
const metrics = "/api/settings/cache-metrics"

/** Stored answers, idempotent requests and the vendors' prompt caches. */
export const CacheGroup = HttpApiGroup.make("cache").add(
  HttpApiEndpoint.get("overview", "/api/cache", { query: { trendHours: opt(queryInteger(1, 720)) }, success: Overview })
    .annotate(Access, reads).annotate(OpenApi.Summary, "What the caches hold and saved"),
  HttpApiEndpoint.delete("forget", "/api/cache", {
    query: { ...name, staleMs: opt(queryInteger(0, 2_592_000_000)) },
    success: Schema.Union([
      Schema.Struct({ ok, invalidated: Schema.Int, scope: Schema.Literals(["model", "signature", "stale"]) }),
      Schema.Struct({ ok, cleared: Schema.Int, scope: Schema.Literal("all") })
    ])
  }).annotate(Access, writes).annotate(OpenApi.Summary, "Forget answers by model, signature or age (staleMs), or all of them"),
  HttpApiEndpoint.get("entries", entries, {
    query: {
      page: opt(queryInteger(1, 1_000_000)),
      limit: opt(queryInteger(1, 100)),
      search: opt(text(1, 200)),
      model: name.model,
      sortBy: opt(Schema.Literals(["created_at", "expires_at", "hit_count", "tokens_saved", "model"])),
      sortOrder: opt(Schema.Literals(["asc", "desc"]))
    },
    success: Schema.Struct({
      entries: Schema.Array(Entry),
      pagination: Schema.Struct({ page: Schema.Int, limit: Schema.Int, total: Schema.Int, totalPages: Schema.Int })
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Stored answers without their text"),
  HttpApiEndpoint.delete("removeEntries", entries, { query: name, success: Schema.Struct({ ok, deleted: Schema.Int }) })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Remove answers by signature or model"),
  HttpApiEndpoint.get("stats", stats, {
    success: Schema.Struct({
      semanticCache: Schema.Struct({ memorySize: Schema.Int, memoryMaxSize: Schema.Int, dbSize: Schema.Int, hitRate: Schema.String }),
      idempotency
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Sizes and hit rate"),
  HttpApiEndpoint.delete("clear", stats, { success: Schema.Struct({ success: ok, message: Schema.String }) })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Clear all caches"),
  HttpApiEndpoint.get("config", settings, { success: Config })
    .annotate(Access, reads).annotate(OpenApi.Summary, "How answers are cached"),
  HttpApiEndpoint.put("setConfig", settings, { payload: CacheConfigChange, success: Config })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Change how answers are cached"),
  HttpApiEndpoint.get("metrics", metrics, { success: Schema.Struct({ ...PromptCache.fields, since: Schema.NullOr(Schema.String) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Counters of the vendors' prompt caches"),
  HttpApiEndpoint.delete("resetMetrics", metrics, { success: Schema.Struct({ ok, since: Schema.String }) })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Count from now on")
).annotateMerge(OpenApi.annotations({ title: "Cache", description: "Stored answers, idempotent requests and the vendors' prompt caches." }))
