import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { Ledger } from "#actors/request/ports/Ledger.ts"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import { Quotas } from "#src/routing/ports/Quotas.ts"
import { QuotaStore } from "#src/features/quotas/ports/QuotaStore.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { expansionsOf } from "#src/routing/combos/expansions.ts"
import { knownProvider } from "#src/management/knownProvider.ts"
import * as CallLog from "./callLog.ts"
import * as CallSearches from "./calls/CallSearches.ts"
import { comboHealth } from "./comboHealth.ts"
import { quotaOf } from "./comboQuota.ts"
import * as QuotaView from "#src/features/quotas/ports/quotaView.ts"
import * as Statistics from "./statistics.ts"
import { UsageReads } from "./UsageReads.ts"
import { UsageGroup } from "./api.ts"
import * as Surface from "#src/management/Surface.ts"
import * as Trends from "./trend/Trends.ts"

/** Lines of /api/usage/logs. */
const LINES = 200
/** Rows that latencies are computed from, unless the query says otherwise. */
const SCANNED = 10_000
const HOUR_MS = 3_600_000
const rangesMs = { "1h": HOUR_MS, "24h": 24 * HOUR_MS, "7d": 168 * HOUR_MS, "30d": 720 * HOUR_MS }

export const layer = HttpApiBuilder.group(Surface.make(UsageGroup), "usage", Effect.fn(function*(handlers) {
  const configuration = yield* Configuration
  const flags = yield* Flags
  const ledger = yield* Ledger
  const lifecycle = yield* Lifecycle
  const quotas = yield* Quotas
  const quotaStore = yield* QuotaStore
  const reads = yield* UsageReads
  const store = yield* UsageStore

  const trend = yield* Trends.make(store, configuration)
  const calls = CallSearches.make(store, configuration, reads)

  const logs = Effect.map(store.rows({ limit: LINES }), (rows) => rows.map((row) => CallLog.line(row, reads)))

  const latency = Effect.fnUntraced(function*(query: {
    readonly windowHours?: number
    readonly minSamples?: number
    readonly maxRows?: number
    readonly provider?: string
    readonly model?: string
  }) {
    const { maxRows = SCANNED, minSamples = 1, provider, windowHours = 24, ...rest } = query
    const target = provider === undefined ? rest : { ...rest, provider: knownProvider(configuration.current(), provider) ?? provider }
    const now = yield* Clock.currentTimeMillis
    const rows = yield* store.latencies("model", { ...target, since: now - windowHours * HOUR_MS, minSamples, maxRows })
    const entries = rows.map((row) => Statistics.latencyEntry(row, reads.providerOf(row.provider), windowHours))
    return { windowHours, minSamples, maxRows, count: entries.length, entries }
  })

  const health = Effect.fnUntraced(function*({ comboId, range = "24h" }: { readonly comboId?: string; readonly range?: keyof typeof rangesMs }) {
    const snapshot = configuration.current()
    const combos = comboId === undefined ? snapshot.combos : snapshot.combos.filter(({ id }) => id === comboId)
    if (comboId !== undefined && combos.length === 0) return yield* Effect.fail(Refusal.notFound("Combo not found"))
    const now = yield* Clock.currentTimeMillis
    const since = now - rangesMs[range]
    const name = comboId === undefined ? undefined : combos[0]?.name
    const statistics = yield* store.comboTargets(name === undefined ? { since } : { since, combo: name })
    const history = quotas.known() ? yield* quotaStore.history({ since }) : []
    return { timeRange: range, combos: combos.map(comboHealth(snapshot, expansionsOf(snapshot, flags), statistics, quotaOf(quotas, history, now))) }
  })

  const reconciliation = Effect.gen(function*() {
    const rows = yield* store.count(lifecycle.nodeId).pipe(
      Effect.map((counts): Record<string, number> | null => Object.fromEntries(counts)),
      Effect.catchTag("StoreError", () => Effect.succeed(null))
    )
    return { ...ledger.reconciliation(), nodeId: lifecycle.nodeId, rows }
  })

  const connectionQuota = Effect.fnUntraced(function*(id: string) {
    const connection = configuration.current().connectionById.get(id)
    if (connection === undefined) return yield* Effect.fail(Refusal.notFound("Connection not found"))
    const now = yield* Clock.currentTimeMillis
    const held = quotas.held(id, now)
    return {
      plan: QuotaView.planOf(connection),
      quotas: QuotaView.windowsOf(held, quotas.limitsOf, now),
      ...(held.length === 0 ? { message: "No quota data for this connection" } : {})
    }
  })

  return handlers.handleAll({
    history: () => answer(reads.history),
    logs: () => answer(logs),
    requestLogs: () => answer(logs),
    callLogs: ({ query }) => answer(calls.page(query)),
    callFacets: ({ query }) => answer(calls.facets(query)),
    callLog: ({ params }) => answer(calls.detail(params.id)),
    analytics: ({ query }) => answer(reads.analytics(query.range ?? "7d", query)),
    trend: ({ query }) => answer(trend(query)),
    latency: ({ query }) => answer(latency(query)),
    comboHealth: ({ query }) => answer(health(query)),
    reconciliation: () => reconciliation,
    connection: ({ params }) => connectionQuota(params.connectionId)
  })
}))
