import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { IdempotencyView } from "#src/features/cache/ports/Idempotency.ts"
import { type Forgotten, ResponseCache } from "#src/features/cache/ports/ResponseCache.ts"
import { CacheGroup } from "./api.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import * as Surface from "#src/management/Surface.ts"
import { rateOf } from "./figures.ts"
import { ManagedCache, scopes } from "./ManagedCache.ts"

const TREND_HOURS = 24
const PAGE = 20

const iso = (ms: number): string => new Date(ms).toISOString()

/** What one query names; a query that names two things is refused. */
const named = (query: { readonly model?: string | undefined; readonly signature?: string | undefined; readonly staleMs?: number | undefined }, now: number) => {
  const all: Array<Exclude<Forgotten, { readonly _tag: "All" }>> = []
  if (query.signature !== undefined) all.push({ _tag: "Signature", signature: query.signature })
  if (query.model !== undefined) all.push({ _tag: "Model", model: query.model })
  if (query.staleMs !== undefined) all.push({ _tag: "Stale", storedBefore: now - query.staleMs })
  return all
}

export const layer = HttpApiBuilder.group(Surface.make(CacheGroup), "cache", Effect.fn(function*(handlers) {
  const cache = yield* ResponseCache
  const idempotency = yield* IdempotencyView
  const managed = yield* ManagedCache

  const idempotencyFacts = () => ({ activeKeys: idempotency.activeKeys(), windowMs: idempotency.windowMs() })

  const overview = Effect.fnUntraced(function*(hours: number) {
    const { byHour, figures: promptCache } = yield* managed.promptCache(hours)
    const figures = cache.figures()
    return {
      semanticCache: {
        memoryEntries: figures.memoryEntries, dbEntries: yield* cache.stored, hits: figures.hits, misses: figures.misses,
        hitRate: rateOf(figures), tokensSaved: figures.tokensSaved
      },
      promptCache,
      trend: byHour.map(({ cachedRequests, cachedTokens, hour, inputTokens, requests }) => ({ hour: iso(hour), requests, cachedRequests, inputTokens, cachedTokens })),
      idempotency: idempotencyFacts(),
      config: { semanticCacheEnabled: cache.config().enabled }
    }
  })

  return handlers.handleAll({
    overview: ({ query: { trendHours = TREND_HOURS } }) => answer(overview(trendHours)),
    forget: ({ query }) => answer(Effect.gen(function*() {
      const [what, ...more] = named(query, yield* Clock.currentTimeMillis)
      if (more.length > 0) return yield* Effect.fail(Refusal.badRequest("Name one of model, signature and staleMs, or none to clear everything"))
      if (what === undefined) return { ok: true as const, cleared: yield* managed.forget({ _tag: "All" }), scope: "all" as const }
      return { ok: true as const, invalidated: yield* managed.forget(what), scope: scopes[what._tag] }
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
      return { ok: true as const, deleted: yield* managed.forget(what) }
    })),
    stats: () => answer(Effect.map(cache.stored, (dbSize) => {
      const figures = cache.figures()
      return {
        semanticCache: { memorySize: figures.memoryEntries, memoryMaxSize: cache.config().maxEntries, dbSize, hitRate: rateOf(figures) },
        idempotency: idempotencyFacts()
      }
    })),
    clear: () => answer(Effect.map(managed.forget({ _tag: "All" }), (count) => ({
      success: true as const, message: `The response cache was cleared: ${count} stored ${count === 1 ? "answer" : "answers"} removed`
    }))),
    config: () => Effect.sync(managed.config),
    setConfig: ({ payload }) => answer(managed.change(payload)),
    metrics: () => answer(Effect.map(managed.metrics, ({ figures, since }) => ({ ...figures, since: since === null ? null : iso(since) }))),
    resetMetrics: () => answer(Effect.map(managed.resetMetrics, (now) => ({ ok: true as const, since: iso(now) })))
  })
}))
