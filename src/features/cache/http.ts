import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import type * as Schema from "effect/Schema"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import { IdempotencyView } from "#src/features/cache/ports/Idempotency.ts"
import { type Forgotten, ResponseCache } from "#src/features/cache/ports/ResponseCache.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import { type PromptCacheUse, UsageStore } from "#actors/ports/UsageStore.ts"
import { type CacheConfigChange, type CacheConfigView, type PromptCacheFigures, CacheGroup } from "./api.ts"
import { settingDefaults } from "#schemas/settingDefaults.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { makePricer, viewOf } from "#src/providers/pricing.ts"
import * as Surface from "#src/management/Surface.ts"

const HOUR_MS = 3_600_000
const TREND_HOURS = 24
const PAGE = 20
/** Where it stands since when the metrics count. */
const KIND = "cache"
const SINCE = "metricsSince"

const iso = (ms: number): string => new Date(ms).toISOString()

const rateOf = ({ hits, misses }: { readonly hits: number; readonly misses: number }): string =>
  `${hits + misses === 0 ? 0 : Math.round(1000 * hits / (hits + misses)) / 10}%`

/** What one query names; a query that names two things is refused. */
const named = (query: { readonly model?: string | undefined; readonly signature?: string | undefined; readonly staleMs?: number | undefined }, now: number) => {
  const all: Array<Exclude<Forgotten, { readonly _tag: "All" }>> = []
  if (query.signature !== undefined) all.push({ _tag: "Signature", signature: query.signature })
  if (query.model !== undefined) all.push({ _tag: "Model", model: query.model })
  if (query.staleMs !== undefined) all.push({ _tag: "Stale", storedBefore: now - query.staleMs })
  return all
}

const scopes = { Signature: "signature", Model: "model", Stale: "stale" } as const

export const layer = HttpApiBuilder.group(Surface.make(CacheGroup), "cache", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const cache = yield* ResponseCache
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const idempotency = yield* IdempotencyView
  const usage = yield* UsageStore

  const idempotencyFacts = () => ({ activeKeys: idempotency.activeKeys(), windowMs: idempotency.windowMs() })

  const setting = (name: string, otherwise: Schema.Json): unknown => configuration.current().settings.get(name) ?? settingDefaults[name] ?? otherwise
  const configView = (): CacheConfigView => {
    const { enabled, maxEntries, ttlMs } = cache.config()
    return {
      semanticCacheEnabled: enabled,
      semanticCacheMaxSize: maxEntries,
      semanticCacheTTL: ttlMs,
      promptCacheEnabled: setting("promptCacheEnabled", true) !== false,
      promptCacheStrategy: setting("promptCacheStrategy", "auto") as CacheConfigView["promptCacheStrategy"],
      alwaysPreserveClientCache: setting("alwaysPreserveClientCache", "auto") as CacheConfigView["alwaysPreserveClientCache"],
      idempotencyWindowMs: idempotency.windowMs()
    }
  }

  const figuresOf = (uses: ReadonlyArray<PromptCacheUse>): PromptCacheFigures => {
    const priceOf = makePricer(viewOf(configuration.current()))
    const byProvider: Record<string, PromptCacheFigures["byProvider"][string]> = {}
    let saved = 0
    const total = { requests: 0, cachedRequests: 0, inputTokens: 0, cachedTokens: 0, cacheCreationTokens: 0 }
    for (const use of uses) {
      const provider = shownProvider(configuration.current(), use.provider)
      const known = byProvider[provider] ?? { requests: 0, inputTokens: 0, cachedTokens: 0, cacheCreationTokens: 0 }
      byProvider[provider] = {
        requests: known.requests + use.requests,
        inputTokens: known.inputTokens + use.inputTokens,
        cachedTokens: known.cachedTokens + use.cachedTokens,
        cacheCreationTokens: known.cacheCreationTokens + use.cacheCreationTokens
      }
      for (const name of ["requests", "cachedRequests", "inputTokens", "cachedTokens", "cacheCreationTokens"] as const) total[name] += use[name]
      const price = priceOf(use.provider, use.model)
      if (price !== null) saved += use.cachedTokens * Math.max(0, (price.input ?? 0) - (price.cached ?? price.input ?? 0)) / 1e6
    }
    return {
      totalRequests: total.requests,
      requestsWithCacheControl: total.cachedRequests,
      totalInputTokens: total.inputTokens,
      totalCachedTokens: total.cachedTokens,
      totalCacheCreationTokens: total.cacheCreationTokens,
      tokensSaved: total.cachedTokens,
      estimatedCostSaved: Math.round(saved * 1e10) / 1e10,
      byProvider,
      byStrategy: {}
    }
  }

  const since = Effect.map(documents.get(KIND, SINCE), (value) => typeof value === "number" ? value : null)

  const overview = Effect.fn("Cache.overview")(function*(hours: number) {
    const now = yield* Clock.currentTimeMillis
    const window = { since: Math.floor(now / HOUR_MS) * HOUR_MS - (hours - 1) * HOUR_MS }
    const figures = cache.figures()
    const byHour = yield* usage.promptCacheHours(window)
    return {
      semanticCache: {
        memoryEntries: figures.memoryEntries, dbEntries: yield* cache.stored, hits: figures.hits, misses: figures.misses,
        hitRate: rateOf(figures), tokensSaved: figures.tokensSaved
      },
      promptCache: figuresOf(yield* usage.promptCache(window)),
      trend: byHour.map(({ cachedRequests, cachedTokens, hour, inputTokens, requests }) => ({ hour: iso(hour), requests, cachedRequests, inputTokens, cachedTokens })),
      idempotency: idempotencyFacts(),
      config: { semanticCacheEnabled: cache.config().enabled }
    }
  })

  const removed = (what: Forgotten) => Effect.tap(cache.forget(what), (count) => audit.note({
    action: what._tag === "All" ? "cache.cleared" : "cache.invalidated", resourceType: "cache",
    details: { removed: count, ...(what._tag === "All" ? {} : { scope: scopes[what._tag] }) }
  }))

  const change = Effect.fn("Cache.setConfig")(function*(input: CacheConfigChange) {
    const entries = Object.entries(input as Readonly<Record<string, Schema.Json>>)
    if (entries.length === 0) return yield* Effect.fail(Refusal.badRequest("No valid fields to update"))
    const known: Readonly<Record<string, Schema.Json>> = { ...configView() }
    const before = Object.fromEntries(entries.map(([name]) => [name, known[name] ?? null]))
    yield* configuration.commit(Effect.forEach(entries, ([name, value]) => documents.put("setting", name, value), { discard: true }))
    yield* audit.note({ action: "settings.updated", resourceType: "settings", details: { changed: entries.map(([name]) => name), before } })
    return configView()
  })

  return handlers.handleAll({
    overview: ({ query: { trendHours = TREND_HOURS } }) => answer(overview(trendHours)),
    forget: ({ query }) => answer(Effect.gen(function*() {
      const [what, ...more] = named(query, yield* Clock.currentTimeMillis)
      if (more.length > 0) return yield* Effect.fail(Refusal.badRequest("Name one of model, signature and staleMs, or none to clear everything"))
      if (what === undefined) return { ok: true as const, cleared: yield* removed({ _tag: "All" }), scope: "all" as const }
      return { ok: true as const, invalidated: yield* removed(what), scope: scopes[what._tag] }
    })),
    entries: ({ query: { limit = PAGE, model, page = 1, search, sortBy = "created_at", sortOrder = "desc" } }) => answer(Effect.map(
      cache.entries({
        sortBy, descending: sortOrder === "desc", limit, offset: (page - 1) * limit,
        ...(model === undefined ? {} : { model }), ...(search === undefined ? {} : { search })
      }),
      ({ entries, total }) => ({
        entries: entries.map((entry) => ({
          id: entry.signature, signature: entry.signature, model: entry.model, hit_count: entry.hits, tokens_saved: entry.tokensSaved,
          created_at: iso(entry.createdAt), expires_at: iso(entry.expiresAt)
        })),
        pagination: { page, limit, total, totalPages: Math.ceil(total / limit) }
      })
    )),
    removeEntries: ({ query }) => answer(Effect.gen(function*() {
      const [what, ...more] = named(query, 0)
      if (what === undefined || more.length > 0) return yield* Effect.fail(Refusal.badRequest("Name a signature or a model"))
      return { ok: true as const, deleted: yield* removed(what) }
    })),
    stats: () => answer(Effect.map(cache.stored, (dbSize) => {
      const figures = cache.figures()
      return {
        semanticCache: { memorySize: figures.memoryEntries, memoryMaxSize: cache.config().maxEntries, dbSize, hitRate: rateOf(figures) },
        idempotency: idempotencyFacts()
      }
    })),
    clear: () => answer(Effect.map(removed({ _tag: "All" }), (count) => ({
      success: true as const, message: `The response cache was cleared: ${count} stored ${count === 1 ? "answer" : "answers"} removed`
    }))),
    config: () => Effect.sync(configView),
    setConfig: ({ payload }) => answer(change(payload)),
    metrics: () => answer(Effect.gen(function*() {
      const from = yield* since
      const uses = yield* usage.promptCache({ since: from ?? 0 })
      return { ...figuresOf(uses), since: from === null ? null : iso(from) }
    })),
    resetMetrics: () => answer(Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      yield* documents.put(KIND, SINCE, now)
      yield* audit.note({ action: "cache.metrics-reset", resourceType: "cache" })
      return { ok: true as const, since: iso(now) }
    }))
  })
}))
