/** The response cache as operators see and change it. Each change is in the audit log. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import { type PromptCacheHour, type PromptCacheUse, UsageStore } from "#actors/ports/UsageStore.ts"
import type { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { settingDefaults } from "#schemas/settingDefaults.ts"
import { IdempotencyView } from "#src/features/cache/ports/Idempotency.ts"
import { type Forgotten, ResponseCache } from "#src/features/cache/ports/ResponseCache.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { makePricer, viewOf } from "#src/providers/pricing.ts"
import type { CacheConfigChange, CacheConfigView, PromptCacheFigures } from "./api.ts"
import * as Figures from "./figures.ts"

type Read<A> = Effect.Effect<A, StoreError>
type Done<A> = Effect.Effect<A, Refusal.Refusal | StoreError, ManagementCall>

/** What the prompt caches of vendors did, since a time in ms since the epoch; null = since the first row. */
export interface Metrics {
  readonly figures: PromptCacheFigures
  readonly since: number | null
}

export class ManagedCache extends Context.Service<ManagedCache, {
  readonly config: () => CacheConfigView
  readonly change: (input: CacheConfigChange) => Done<CacheConfigView>
  /** Removes answers; answers how many. */
  readonly forget: (what: Forgotten) => Done<number>
  /** Prompt caches over the last hours, the running one included: their sum, and hour by hour. */
  readonly promptCache: (hours: number) => Read<{ readonly figures: PromptCacheFigures; readonly byHour: ReadonlyArray<PromptCacheHour> }>
  readonly metrics: Read<Metrics>
  /** Counts from now on; answers that moment. */
  readonly resetMetrics: Done<number>
}>()("gateway/http/ManagedCache") {}

const HOUR_MS = 3_600_000
/** Where it stands since when the metrics count. */
const KIND = "cache"
const SINCE = "metricsSince"

/** The word of replies and of the audit log for what was removed. */
export const scopes = { Signature: "signature", Model: "model", Stale: "stale" } as const

export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const cache = yield* ResponseCache
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const idempotency = yield* IdempotencyView
  const usage = yield* UsageStore

  const setting = (name: string, otherwise: Schema.Json): unknown => configuration.current().settings.get(name) ?? settingDefaults[name] ?? otherwise

  const config = (): CacheConfigView => {
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

  const change = Effect.fn("ManagedCache.change")(function*(input: CacheConfigChange) {
    const entries = Object.entries(input as Readonly<Record<string, Schema.Json>>)
    if (entries.length === 0) return yield* Effect.fail(Refusal.badRequest("No valid fields to update"))
    const known: Readonly<Record<string, Schema.Json>> = { ...config() }
    const before = Object.fromEntries(entries.map(([name]) => [name, known[name] ?? null]))
    yield* configuration.commit(Effect.forEach(entries, ([name, value]) => documents.put("setting", name, value), { discard: true }))
    yield* audit.note({ action: "settings.updated", resourceType: "settings", details: { changed: entries.map(([name]) => name), before } })
    return config()
  })

  const forget = (what: Forgotten) => Effect.tap(cache.forget(what), (count) => audit.note({
    action: what._tag === "All" ? "cache.cleared" : "cache.invalidated", resourceType: "cache",
    details: { removed: count, ...(what._tag === "All" ? {} : { scope: scopes[what._tag] }) }
  }))

  const figuresOf = (uses: ReadonlyArray<PromptCacheUse>): PromptCacheFigures => {
    const snapshot = configuration.current()
    return Figures.promptCacheFigures(uses, makePricer(viewOf(snapshot)), (provider) => shownProvider(snapshot, provider))
  }

  const promptCache = Effect.fn("ManagedCache.promptCache")(function*(hours: number) {
    const now = yield* Clock.currentTimeMillis
    const window = { since: Math.floor(now / HOUR_MS) * HOUR_MS - (hours - 1) * HOUR_MS }
    return { byHour: yield* usage.promptCacheHours(window), figures: figuresOf(yield* usage.promptCache(window)) }
  })

  const metrics = Effect.gen(function*() {
    const kept = yield* documents.get(KIND, SINCE)
    const since = typeof kept === "number" ? kept : null
    return { figures: figuresOf(yield* usage.promptCache({ since: since ?? 0 })), since }
  })

  const resetMetrics = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    yield* documents.put(KIND, SINCE, now)
    yield* audit.note({ action: "cache.metrics-reset", resourceType: "cache" })
    return now
  })

  return ManagedCache.of({ config, change, forget, promptCache, metrics, resetMetrics })
})

export const layer = Layer.effect(ManagedCache, make)
