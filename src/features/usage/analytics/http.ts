import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import { answer } from "#src/management/answer.ts"
import { autoRouting } from "./autoRouting.ts"
import { cacheHealth } from "./cacheHealth.ts"
import { diversityOf } from "./distribution.ts"
import { successShare } from "#src/features/usage/statistics.ts"
import { AnalyticsGroup } from "./api.ts"
import * as Surface from "#src/management/Surface.ts"

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const rangesMs = { "1h": HOUR_MS, "24h": DAY_MS, "7d": 7 * DAY_MS, "30d": 30 * DAY_MS }

export const layer = HttpApiBuilder.group(Surface.make(AnalyticsGroup), "analytics", Effect.fn(function*(handlers) {
  const configuration = yield* Configuration
  const store = yield* UsageStore

  const nameOf = (provider: string): string => shownProvider(configuration.current(), provider)
  const since = (windowMs: number) => Effect.map(Clock.currentTimeMillis, (now) => ({ since: now - windowMs }))

  const telemetry = Effect.fnUntraced(function*(windowMs: number) {
    const rows = yield* store.latencies("provider", yield* since(windowMs))
    return {
      windowMs,
      providers: Object.fromEntries(rows.map(({ p50Ms, p95Ms, p99Ms, provider, samples }) => [nameOf(provider), { p50: p50Ms, p95: p95Ms, p99: p99Ms, count: samples }]))
    }
  })

  const providerMetrics = Effect.fnUntraced(function*(windowHours: number) {
    const rows = yield* store.latencies("provider", yield* since(windowHours * HOUR_MS))
    return {
      windowHours,
      providers: Object.fromEntries(rows.map((row) => [nameOf(row.provider), {
        requests: row.requests, successes: row.successes, failures: row.failures, successRate: successShare(row), avgLatencyMs: row.avgMs,
        p50LatencyMs: row.p50Ms, p95LatencyMs: row.p95Ms, p99LatencyMs: row.p99Ms, lastUsedAt: new Date(row.lastUsed).toISOString()
      }]))
    }
  })

  const auto = Effect.fnUntraced(function*(days: number | undefined) {
    const rows = yield* store.comboCalls(yield* since((days ?? 1) * DAY_MS))
    return { window: days === undefined ? "24h" : `${days}d`, ...autoRouting(configuration.current(), rows) }
  })

  const promptCaches = Effect.fnUntraced(function*({ model, range = "24h" }: { readonly range?: keyof typeof rangesMs; readonly model?: string }) {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* store.promptCacheWrites({ since: now - rangesMs[range], ...(model === undefined ? {} : { model }) })
    return { range, model: model ?? null, ...cacheHealth(rows, nameOf), generatedAt: new Date(now).toISOString() }
  })

  const diversity = Effect.gen(function*() {
    const groups = yield* store.groupBy("provider", { ...(yield* since(DAY_MS)), finalOnly: true })
    return diversityOf(groups.map(({ provider, requests }) => [provider === null ? "unknown" : nameOf(provider), requests]))
  })

  return handlers.handleAll({
    telemetry: ({ query }) => answer(telemetry(query.windowMs ?? DAY_MS)),
    providerMetrics: ({ query }) => answer(providerMetrics(query.windowHours ?? 24)),
    autoRouting: ({ query }) => answer(auto(query.days)),
    cacheHealth: ({ query }) => answer(promptCaches(query)),
    diversity: () => answer(diversity)
  })
}))
