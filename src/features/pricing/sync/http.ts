import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import type { Source, Subject } from "#schemas/catalogue/SyncedModels.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import type { PriceView } from "#src/features/pricing/api.ts"
import { PricingSyncGroup, type Status } from "./api.ts"
import { CatalogueSync } from "./CatalogueSync.ts"
import { FACTS_EVERY_MS, factSources, intervals } from "./SyncLoop.ts"
import { SyncOptions } from "./SyncOptions.ts"
import * as Turns from "./turns.ts"

const actions = { prices: "pricing", facts: "models" } as const
const resources = { prices: "pricing", facts: "model" } as const

const iso = (ms: number): string => new Date(ms).toISOString()

/** Entries by provider and model. */
const nested = (entries: ReadonlyMap<string, unknown>): Record<string, Record<string, PriceView>> => {
  const map: Record<string, Record<string, PriceView>> = {}
  for (const [key, price] of entries) {
    const slash = key.indexOf("/")
    const models = map[key.slice(0, slash)] ??= {}
    models[key.slice(slash + 1)] = price as PriceView
  }
  return map
}

export const layer = HttpApiBuilder.group(Surface.make(PricingSyncGroup), "pricingSync", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const catalogue = yield* CatalogueSync
  const options = yield* SyncOptions
  const due = yield* intervals

  const sync = Effect.fn("PricingSync.sync")(function*(subject: Subject, sources: ReadonlyArray<Source>, dryRun: boolean) {
    const names = sources.join(", ")
    const event = { action: `${actions[subject]}.synced`, target: names, resourceType: resources[subject] }
    const outcome = yield* Effect.catchTag(catalogue.sync(subject, sources, dryRun ? "trial" : "request"), "SyncFailure", ({ message }) => Effect.andThen(
      dryRun ? Effect.void : audit.note({ ...event, status: "failure", details: { error: message } }),
      Effect.fail(Refusal.unavailable(message, { code: "source_unavailable" }))
    ))
    const { entries, modelCount, providerCount, warnings } = outcome
    if (!dryRun) yield* audit.note({ ...event, details: { modelCount, providerCount, warnings: warnings.length } })
    return { reply: { success: true as const, modelCount, providerCount, source: names, dryRun, ...(warnings.length === 0 ? {} : { warnings }) }, entries }
  })

  const status = Effect.fn("PricingSync.status")(function*(subject: Subject, usual: { readonly everyMs: number; readonly sources: ReadonlyArray<Source> }) {
    const active = due().find((one) => one.subject === subject)
    const { everyMs, sources } = active ?? usual
    const stored = yield* catalogue.stored(subject)
    const turn = yield* catalogue.turn(subject)
    const now = yield* Clock.currentTimeMillis
    return {
      enabled: active !== undefined, intervalMs: everyMs, activeSources: sources,
      lastSync: stored.map(({ syncedAt }) => syncedAt).toSorted().at(-1) ?? null,
      nextSync: active === undefined ? null : iso(Math.max(now, Turns.nextAt(turn, everyMs, now))),
      lastError: turn.error,
      sources: stored.map(({ modelCount, providerCount, source, syncedAt, warnings }) => ({ source, host: new URL(options.urls[source]).host, syncedAt, modelCount, providerCount, warnings }))
    } satisfies Status
  })

  const clear = Effect.fn("PricingSync.clear")(function*(subject: Subject) {
    const cleared = yield* catalogue.clear(subject)
    yield* audit.note({ action: `${actions[subject]}.sync.cleared`, resourceType: resources[subject], details: { sources: cleared } })
    return { success: true as const, cleared }
  })

  return handlers.handleAll({
    syncPrices: ({ payload: { dryRun = false, sources = options.sources } }) => answer(Effect.map(
      sync("prices", Array.from(new Set(sources)), dryRun), ({ entries, reply }) => dryRun ? { ...reply, data: nested(entries) } : reply)),
    pricesStatus: () => answer(status("prices", options)),
    clearPrices: () => answer(clear("prices")),
    syncFacts: ({ payload: { dryRun = false } }) => answer(Effect.map(sync("facts", factSources, dryRun), ({ reply }) => reply)),
    factsStatus: () => answer(status("facts", { everyMs: FACTS_EVERY_MS, sources: factSources })),
    clearFacts: () => answer(clear("facts"))
  })
}))
