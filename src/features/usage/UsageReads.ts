/** The breakdowns of GET /api/usage/history and /analytics. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import { LiveCalls } from "#src/inference/ports/LiveCalls.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { type UsageFilter, type UsageGroup, UsageStore } from "#actors/ports/UsageStore.ts"
import type { Analytics, History } from "./api.ts"
import * as Statistics from "./statistics.ts"
import * as Buckets from "./trend/buckets.ts"

export class UsageReads extends Context.Service<UsageReads, {
  readonly history: Effect.Effect<History, StoreError>
  /** `from`, `to`: ISO times, in place of the range. */
  readonly analytics: (range: string, within?: { readonly from?: string; readonly to?: string }) => Effect.Effect<Analytics, StoreError>
  /** Name of a connection, or null when it is gone. */
  readonly accountOf: (connectionId: string) => string | null
  /** The name of a provider. */
  readonly providerOf: (id: string) => string
}>()("gateway/http/UsageReads") {}

/** Days of a trend; sums and breakdowns count everything. */
const DAYS_MAX = 380
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const ranges: Readonly<Record<string, number>> = {
  "1h": HOUR_MS, "24h": 24 * HOUR_MS, "1d": 24 * HOUR_MS, "7d": 168 * HOUR_MS, "30d": 720 * HOUR_MS, "90d": 2160 * HOUR_MS
}

const totalsOf = ({ completionTokens, cost, promptTokens, requests, units }: Statistics.Totals): Statistics.Totals =>
  ({ requests, promptTokens, completionTokens, units, cost })

const lastUsed = (group: UsageGroup): string | null => group.lastUsed > 0 ? new Date(group.lastUsed).toISOString() : null

const anonymous = "anonymous"

/** A name that several owners share keeps its first; the others are distinguished by id. */
const named = <A>(entries: Iterable<readonly [name: string, id: string, value: A]>): Record<string, A> => {
  const out: Record<string, A> = {}
  for (const [name, id, value] of entries) out[out[name] === undefined ? name : `${name} (${id})`] = value
  return out
}

export const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const live = yield* LiveCalls
  const store = yield* UsageStore

  const accountOf = (id: string): string | null => configuration.current().connectionById.get(id)?.name ?? null
  const providerOf = (id: string): string => shownProvider(configuration.current(), id)
  const providerName = ({ provider }: UsageGroup): string => provider === null ? "unknown" : providerOf(provider)
  const accountName = (group: UsageGroup): string => group.connectionId === null ? "none" : accountOf(group.connectionId) ?? group.connectionId

  const groups = (filter: UsageFilter) => Effect.all({
    provider: store.groupBy("provider", filter),
    model: store.groupBy("model", filter),
    connection: store.groupBy("connection", filter),
    apiKey: store.groupBy("apiKey", filter)
  })

  const history = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const totals = yield* store.totals({})
    const by = yield* groups({})
    const running = live.list()
    const pending = { byModel: {} as Record<string, number>, byAccount: {} as Record<string, number> }
    const activeRequests = running.map((call) => {
      const provider = providerOf(call.provider)
      const account = call.connectionId === null ? "none" : accountOf(call.connectionId) ?? call.connectionId
      const model = `${call.model} (${provider})`
      pending.byModel[model] = (pending.byModel[model] ?? 0) + call.count
      pending.byAccount[account] = (pending.byAccount[account] ?? 0) + call.count
      return { model: call.model, provider, account, count: call.count }
    })
    return {
      totalRequests: totals.requests,
      totalPromptTokens: totals.promptTokens,
      totalCompletionTokens: totals.completionTokens,
      totalUnits: totals.units,
      totalCost: totals.cost,
      byProvider: Object.fromEntries(by.provider.map((group) => [providerName(group), totalsOf(group)])),
      byModel: Object.fromEntries(by.model.map((group) => [`${group.model ?? "unknown"} (${providerName(group)})`, {
        ...totalsOf(group), rawModel: group.model ?? "unknown", provider: providerName(group), lastUsed: lastUsed(group)
      }])),
      byAccount: named(by.connection.map((group) => [accountName(group), group.connectionId ?? "none", {
        ...totalsOf(group), provider: group.provider === null ? null : providerOf(group.provider), connectionId: group.connectionId ?? "none", lastUsed: lastUsed(group)
      }] as const)),
      byApiKey: named(by.apiKey.map((group) => [group.apiKeyName ?? anonymous, group.apiKeyId ?? anonymous, {
        ...totalsOf(group), apiKeyId: group.apiKeyId, name: group.apiKeyName ?? anonymous, lastUsed: lastUsed(group)
      }] as const)),
      last10Minutes: (yield* store.lastMinutes(now)).map(totalsOf),
      pending,
      activeRequests
    }
  })

  const analytics = Effect.fn("UsageReads.analytics")(function*(range: string, { from, to }: { readonly from?: string; readonly to?: string } = {}) {
    const now = yield* Clock.currentTimeMillis
    const window = ranges[range]
    const filter: UsageFilter = {
      ...(from !== undefined ? { since: Date.parse(from) } : window === undefined || to !== undefined ? {} : { since: now - window }),
      // Whole ms: the last one before `to`.
      ...(to === undefined ? {} : { until: Date.parse(to) - 1 })
    }
    const end = (filter.until ?? now) + 1
    const starts = (Buckets.boundsOf(Math.max(filter.since ?? 0, end - DAYS_MAX * DAY_MS), end, "day", "UTC") ?? []).slice(0, -1)
    const { slices, total } = yield* store.trend({ since: filter.since ?? 0, until: end }, starts)
    const by = yield* groups(filter)
    const dailyTrend = Statistics.daily(starts, slices)
    return {
      range,
      summary: {
        ...totalsOf(total),
        successRate: total.requests === 0 ? 1 : total.successes / total.requests,
        avgLatencyMs: total.avgMs ?? 0,
        models: by.model.length,
        providers: by.provider.length
      },
      byModel: by.model.map((group) => ({ model: group.model ?? "unknown", provider: providerName(group), ...totalsOf(group) })),
      byProvider: by.provider.map((group) => ({ provider: providerName(group), ...totalsOf(group) })),
      byApiKey: by.apiKey.map((group) => ({ apiKeyId: group.apiKeyId, name: group.apiKeyName ?? anonymous, ...totalsOf(group) })),
      byAccount: by.connection.map((group) => ({ connectionId: group.connectionId ?? "none", account: accountName(group), ...totalsOf(group) })),
      dailyTrend,
      activityMap: Object.fromEntries(dailyTrend.map((day) => [day.date, day.requests])),
      weeklyPattern: Statistics.weekly(dailyTrend)
    }
  })

  return UsageReads.of({ history, analytics, accountOf, providerOf })
})

export const layer = Layer.effect(UsageReads, make)
