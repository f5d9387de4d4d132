import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration, shownProvider, type Snapshot } from "#actors/ports/Configuration.ts"
import { Credentials } from "#actors/request/ports/Credentials.ts"
import { Quotas } from "#src/routing/ports/Quotas.ts"
import { QuotaStore } from "#src/features/quotas/ports/QuotaStore.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import { answer } from "#src/management/answer.ts"
import * as Due from "./polls/due.ts"
import * as Utilization from "./utilization.ts"
import { TokenHealth } from "#src/features/oauth/ports/TokenHealth.ts"
import { knownProvider } from "#src/management/knownProvider.ts"
import * as QuotaView from "#src/features/quotas/ports/quotaView.ts"
import { builtin } from "#src/providers/Registry.ts"
import { QuotasGroup } from "./api.ts"
import * as Surface from "#src/management/Surface.ts"

/** Newest readings that a look over a range takes. */
const READINGS_MAX = 10_000

interface Filters {
  readonly provider?: string
  readonly connectionId?: string
}

export const layer = HttpApiBuilder.group(Surface.make(QuotasGroup), "quotas", Effect.fn(function*(handlers) {
  const configuration = yield* Configuration
  const credentials = yield* Credentials
  const quotas = yield* Quotas
  const store = yield* QuotaStore
  const tokens = yield* TokenHealth

  /** Connections whose quota may be shown; `provider`: by its id, its alias or the prefix of a node. */
  const shown = (snapshot: Snapshot, { connectionId, provider }: Filters): ReadonlyArray<Connection> => {
    const providerId = provider === undefined ? undefined : knownProvider(snapshot, provider) ?? provider
    return snapshot.connections.filter((connection) => connection.quotaVisible && (providerId === undefined || connection.provider === providerId) &&
      (connectionId === undefined || connection.id === connectionId))
  }

  const heldOf = (connectionId: string | undefined, now: number) => Map.groupBy(quotas.held(connectionId ?? null, now), (one) => one.connectionId)

  const list = (filters: Filters) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const snapshot = configuration.current()
      const { connectionId, provider } = filters
      const held = heldOf(connectionId, now)
      const providers = shown(snapshot, filters)
        .map((connection) => QuotaView.rowOf(snapshot, connection, held.get(connection.id) ?? [], quotas.limitsOf, credentials.renewing(connection.id), now))
      return {
        providers,
        meta: {
          generatedAt: new Date(now).toISOString(),
          filters: { provider: provider === undefined ? null : shownProvider(snapshot, provider), connectionId: connectionId ?? null },
          totalProviders: providers.length
        }
      }
    })

  const limits = (filters: Filters) => Effect.map(Clock.currentTimeMillis, (now) => {
    const snapshot = configuration.current()
    const held = heldOf(filters.connectionId, now)
    const everyMs = Due.intervalMs(snapshot)
    return {
      generatedAt: new Date(now).toISOString(),
      autoRefresh: { enabled: everyMs !== null, intervalSeconds: everyMs === null ? null : everyMs / 1_000 },
      connections: shown(snapshot, filters).map((connection) => ({
        connectionId: connection.id, name: connection.name, provider: shownProvider(snapshot, connection.provider), plan: QuotaView.planOf(connection),
        isActive: connection.isActive, quotas: QuotaView.windowsOf(held.get(connection.id) ?? [], quotas.limitsOf, now),
        overrides: connection.rateLimitOverrides ?? {}, maxConcurrent: connection.maxConcurrent
      }))
    }
  })

  const utilization = Effect.fnUntraced(function*({ range = "24h", ...filters }: Filters & { readonly range?: keyof typeof Utilization.ranges }) {
    const now = yield* Clock.currentTimeMillis
    const snapshot = configuration.current()
    const { bucketMs, ms } = Utilization.ranges[range]
    const { connectionId } = filters
    const rows = yield* store.history({ since: now - ms, limit: READINGS_MAX, ...(connectionId === undefined ? {} : { connectionId }) })
    const visible = new Set(shown(snapshot, filters).map(({ id }) => id))
    return {
      from: new Date(now - ms).toISOString(), to: new Date(now).toISOString(), bucketMs, complete: rows.length < READINGS_MAX,
      series: Utilization.seriesOf(snapshot, rows.filter((row) => visible.has(row.connectionId)), bucketMs)
    }
  })

  return handlers.handleAll({
    list: ({ query }) => list(query),
    limits: ({ query }) => limits(query),
    utilization: ({ query }) => answer(utilization(query)),
    tokenHealth: () => Effect.map(Clock.currentTimeMillis, (now) => QuotaView.tokenHealth(configuration.current(), builtin, {
      renewing: credentials.renewing, lastCheckAt: tokens.lastCheckAt(), running: tokens.running()
    }, now))
  })
}))
