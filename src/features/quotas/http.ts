import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import { Credentials } from "#actors/request/ports/Credentials.ts"
import { Quotas } from "#src/routing/ports/Quotas.ts"
import { TokenHealth } from "#src/features/oauth/ports/TokenHealth.ts"
import { knownProvider } from "#src/management/knownProvider.ts"
import * as QuotaView from "#src/features/quotas/ports/quotaView.ts"
import { builtin } from "#src/providers/Registry.ts"
import { QuotasGroup } from "./api.ts"
import * as Surface from "#src/management/Surface.ts"

export const layer = HttpApiBuilder.group(Surface.make(QuotasGroup), "quotas", Effect.fn(function*(handlers) {
  const configuration = yield* Configuration
  const credentials = yield* Credentials
  const quotas = yield* Quotas
  const tokens = yield* TokenHealth

  const list = ({ connectionId, provider }: { readonly connectionId?: string; readonly provider?: string }) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const snapshot = configuration.current()
      // By its id, its alias or the prefix of a node.
      const providerId = provider === undefined ? undefined : knownProvider(snapshot, provider) ?? provider
      const held = Map.groupBy(quotas.held(connectionId ?? null, now), (one) => one.connectionId)
      const providers = snapshot.connections
        .filter((connection) => connection.quotaVisible && (providerId === undefined || connection.provider === providerId) &&
          (connectionId === undefined || connection.id === connectionId))
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

  return handlers.handleAll({
    list: ({ query }) => list(query),
    tokenHealth: () => Effect.map(Clock.currentTimeMillis, (now) => QuotaView.tokenHealth(configuration.current(), builtin, {
      renewing: credentials.renewing, lastCheckAt: tokens.lastCheckAt(), running: tokens.running()
    }, now))
  })
}))
