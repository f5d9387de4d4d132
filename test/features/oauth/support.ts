/** The credentials of a small gateway: memory stores, the real guard and HTTP client, a local authorization server. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as References from "effect/References"
import * as TestClock from "effect/testing/TestClock"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Credentials } from "#actors/request/ports/Credentials.ts"
import { ConnectionStore, DocumentStore } from "#actors/ports/Stores.ts"
import { TokenHealth } from "#src/features/oauth/ports/TokenHealth.ts"
import { UrlGuard } from "#actors/ports/UrlGuard.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { Provider } from "#schemas/Provider.ts"
import * as AloneFeed from "#src/platform/cluster/AloneFeed.ts"
import * as LocalRecordLocks from "#src/platform/cluster/LocalRecordLocks.ts"
import * as EffectiveFlags from "#src/platform/configuration/EffectiveFlags.ts"
import * as StoredConfiguration from "#src/platform/configuration/StoredConfiguration.ts"
import * as ConnectionCredentials from "#src/features/oauth/tokens/ConnectionCredentials.ts"
import * as RefreshSweep from "#src/features/oauth/tokens/RefreshSweep.ts"
import * as Registry from "#src/providers/Registry.ts"
import * as AddressGuard from "#src/platform/upstream/AddressGuard.ts"
import * as HttpUpstream from "#src/platform/upstream/HttpUpstream.ts"
import * as MemoryStores from "#test/support/memoryStores.ts"
import * as OAuthServer from "#test/support/oauthServer.ts"
import { connection } from "#test/suites/records.ts"

/** ms since the epoch at which a test begins. */
export const START = Date.parse("2026-06-01T12:00:00.000Z")

export const acme = (server: OAuthServer.OAuthServer, more: Partial<Provider> = {}): Provider => ({
  id: "acme", alias: "ac", name: "Acme", baseUrl: "https://api.acme.example/v1", wireFormat: "chat-completions", auth: { type: "bearer" },
  chatPath: "/chat/completions", modelsPath: "/models", authKinds: ["apikey", "oauth"], category: "oauth", freeTier: false, env: ["ACME_API_KEY"],
  modalities: ["chat"], models: [], source: { date: "2026-01-01", urls: [] }, serviceAccountScope: "models",
  oauth: {
    authorizeUrl: "https://acme.example/authorize?audience=models", deviceUrl: `${server.url}/device`, tokenUrl: server.tokenUrl,
    clientId: "ACME_CLIENT_ID", clientSecret: "ACME_CLIENT_SECRET", scopes: ["models", "offline"], authorizeParams: { prompt: "consent" }
  },
  ...more
})

export const environment = { ACME_CLIENT_ID: OAuthServer.CLIENT_ID, ACME_CLIENT_SECRET: OAuthServer.CLIENT_SECRET }

export interface Options {
  readonly connections: (server: OAuthServer.OAuthServer) => ReadonlyArray<Connection>
  readonly environment?: Readonly<Record<string, string>>
  readonly allowLocal?: boolean
  /** The background check runs, too. */
  readonly sweeps?: boolean
  /** Stored settings, such as `resilience`. */
  readonly settings?: Readonly<Record<string, unknown>>
}

export const signedIn = (server: OAuthServer.OAuthServer, fields: Partial<Connection> = {}): Connection => {
  server.refreshTokens.add("canary-refresh-first")
  return connection({
    id: "c-1", provider: "acme", authType: "oauth", apiKey: null, accessToken: Redacted.make("canary-access-first"),
    refreshToken: Redacted.make("canary-refresh-first"), tokenExpiresAt: new Date(START + 3_600_000).toISOString(), expiresIn: 3600, ...fields
  })
}

export const withAccount = (server: OAuthServer.OAuthServer, more: Record<string, unknown> = {}): Connection =>
  connection({ id: "c-1", provider: "acme", apiKey: Redacted.make(OAuthServer.serviceAccount(server.tokenUrl, more)) })

export const make = Effect.fnUntraced(function*(options: Options) {
  yield* TestClock.setTime(START)
  const server = yield* Effect.acquireRelease(Effect.promise(() => OAuthServer.start()), (one) => Effect.promise(one.close))
  server.clock = () => START / 1000
  const guard = Layer.succeed(UrlGuard, UrlGuard.of(AddressGuard.make({
    policy: () => ({ local: options.allowLocal ?? true, private: false, guard: true })
  })))
  const seeded = Layer.effectDiscard(Effect.flatMap(ConnectionStore, (store) =>
    Effect.forEach(options.connections(server), store.insert, { discard: true })))
  const configured = Layer.effectDiscard(Effect.flatMap(DocumentStore, (store) =>
    Effect.forEach(Object.entries(options.settings ?? {}), ([name, value]) => store.put("setting", name, value), { discard: true })))
  const registry = Registry.make([acme(server)])
  const sweeps = options.sweeps === true
    ? RefreshSweep.layer({ registry })
    : Layer.succeed(TokenHealth, { lastCheckAt: () => null, running: () => false })
  const context = yield* Layer.build(
    sweeps.pipe(
      Layer.provideMerge(ConnectionCredentials.layer({ environment: options.environment ?? environment, registry })),
      Layer.provideMerge(EffectiveFlags.layer(options.environment ?? environment)),
      Layer.provideMerge(HttpUpstream.layer({ keepAliveMs: 1 }).pipe(Layer.provideMerge(guard))),
      Layer.provideMerge(StoredConfiguration.layer({ simulatorUrl: null, simulatorMode: "never" })),
      Layer.provideMerge(Layer.mergeAll(seeded, configured)),
      Layer.provideMerge(Layer.mergeAll(MemoryStores.layer, AloneFeed.layerFeed, LocalRecordLocks.layer)),
      Layer.provide(Layer.succeed(References.MinimumLogLevel, "None"))
    )
  )
  return {
    server,
    credentials: Context.get(context, Credentials),
    configuration: Context.get(context, Configuration),
    store: Context.get(context, ConnectionStore),
    health: Context.get(context, TokenHealth)
  }
})

/** Real time, a little: for what happens behind the callers. */
export const untilTrue = (look: () => boolean): Effect.Effect<void> => Effect.promise(async () => {
  const deadline = Date.now() + 5_000
  while (!look()) {
    if (Date.now() > deadline) throw new Error("did not happen within 5 s")
    await new Promise<void>((resolve) => { setTimeout(resolve, 5) })
  }
})
