/** Searches as clients and operators are shown them. Pure. */
import { type Snapshot, shownProvider } from "#actors/ports/Configuration.ts"
import type { Price } from "#schemas/Provider.ts"
import * as Cost from "#src/platform/accounting/cost.ts"
import { builtin } from "#src/providers/Registry.ts"
import * as SearchPool from "#src/routing/searchPool.ts"
import * as Vendors from "#src/wire/search/vendors/index.ts"
import { HOUR_MS } from "#src/platform/accounting/HourSums.ts"
import type { HourTotal, ProviderSums, Sums } from "./statistics/SearchStatisticsStore.ts"

const DAY_MS = 24 * HOUR_MS

/** From when hours are read: the last 24, and today in UTC. */
export const sinceOf = (now: number): number => now - now % HOUR_MS - DAY_MS

const none: Sums = { requests: 0, attempts: 0, cached: 0, errors: 0, costUsd: 0, durationMs: 0 }

const sumOf = (all: ReadonlyArray<Sums>): Sums => {
  const of = (name: Exclude<keyof Sums, "costUsd">): number => all.reduce((sum, one) => sum + one[name], 0)
  return { requests: of("requests"), attempts: of("attempts"), cached: of("cached"), errors: of("errors"), costUsd: Cost.sum(all.map(({ costUsd }) => costUsd)), durationMs: of("durationMs") }
}

const countOf = ({ attempts, cached }: Sums): number => attempts + cached
const meanOf = ({ durationMs, requests }: Sums): number => requests === 0 ? 0 : Math.round(durationMs / requests)
const share = (part: number, whole: number): number => whole === 0 ? 0 : Math.round(part / whole * 10_000) / 10_000

/** GET /v1/search/analytics. */
export const analyticsOf = (snapshot: Snapshot, rows: ReadonlyArray<ProviderSums>, hours: ReadonlyArray<HourTotal>, now: number) => {
  const all = sumOf(rows)
  const today = sumOf(hours.filter(({ hour }) => hour >= now - now % DAY_MS))
  const hourOf = new Map(hours.map((one) => [one.hour, one]))
  const latest = now - now % HOUR_MS
  return {
    total: all.requests,
    today: today.requests,
    cached: all.cached,
    errors: all.errors,
    totalCostUsd: all.costUsd,
    byProvider: Object.fromEntries([...Map.groupBy(rows, ({ provider }) => provider)].map(([provider, own]) => {
      const sums = sumOf(own)
      return [shownProvider(snapshot, provider), { count: countOf(sums), costUsd: sums.costUsd, cached: sums.cached, errors: sums.errors, avgDurationMs: meanOf(sums) }]
    })),
    cacheHitRate: share(all.cached, all.requests),
    avgDurationMs: meanOf(all),
    last24h: Array.from({ length: 24 }, (_, i) => {
      const hour = latest - (23 - i) * HOUR_MS
      const { cached, costUsd, errors, requests } = hourOf.get(hour) ?? none
      return { hour: new Date(hour).toISOString(), count: requests, cached, errors, costUsd }
    })
  }
}

/** GET /v1/search. */
export const listOf = (snapshot: Snapshot, created: number) => ({
  object: "list" as const,
  data: SearchPool.configured(snapshot, builtin).map(({ row: { id, name }, types }) => ({ id, object: "search_provider" as const, created, name, search_types: types }))
})

export type PriceOf = (provider: string, model: string) => Price | null

/** GET /api/search/providers. */
export const providersOf = (snapshot: Snapshot, priceOf: PriceOf) => builtin.all.flatMap((row) => {
  const vendor = Vendors.ofProvider(row.id)
  if (vendor === null) return []
  const connections = snapshot.connections.filter(({ provider }) => provider === row.id)
  return [{
    id: row.id, name: row.name, searchTypes: vendor.types, maxResults: vendor.most, costPerQueryUsd: priceOf(row.id, "web")?.per_query ?? null, filters: [...vendor.takes],
    keyless: row.authKinds.includes("none"), configured: snapshot.activeByProvider.has(row.id), connections: connections.length
  }]
})

/** GET /api/search/stats; `exists`: connections that are shown. */
export const statsOf = (rows: ReadonlyArray<ProviderSums>, exists: (connectionId: string) => boolean, snapshot: Snapshot) =>
  rows.filter(({ connectionId }) => connectionId === null || exists(connectionId)).map(({ connectionId, provider, ...sums }) => ({
    provider: shownProvider(snapshot, provider), connectionId, requests: sums.requests, attempts: sums.attempts, cached: sums.cached, errors: sums.errors, costUsd: sums.costUsd, avgDurationMs: meanOf(sums)
  }))
