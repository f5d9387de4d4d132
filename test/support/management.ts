/**
 * The management surface without a socket: requests go in, replies come out. The peer address is chosen per call, so that
 * rules about loopback and brute force can be told apart from the machine the test runs on.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { inetAddressFromStringUnsafe } from "effect/net/NetAddress"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServer from "effect/http/HttpServer"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as References from "effect/References"
import * as TestClock from "effect/testing/TestClock"
import { EvalCalls } from "#src/inference/ports/EvalCalls.ts"
import { Machine } from "#src/features/cliTools/Machine.ts"
import type { Applier } from "#src/features/configFile/Applier.ts"
import { ConfigFile } from "#src/features/configFile/ports/ConfigFile.ts"
import { Appliers } from "#src/features/configFile/ReadConfigFile.ts"
import { OwnCalls } from "#src/inference/ports/OwnCalls.ts"
import { EvalScores } from "#src/routing/ports/EvalScores.ts"
import { type Reconciliation, Ledger } from "#actors/request/ports/Ledger.ts"
import { Leases } from "#actors/lease/Leases.ts"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import * as Guardrails from "#src/features/guardrails/Guardrails.ts"
import { IdempotencyView } from "#src/features/cache/ports/Idempotency.ts"
import { DashboardFiles } from "#src/features/dashboard/ports/DashboardFiles.ts"
import * as LiveChannel from "#src/features/live/LiveChannel.ts"
import { LiveOptions } from "#src/features/live/LiveOptions.ts"
import { LiveCalls } from "#src/inference/ports/LiveCalls.ts"
import { LiveWatch } from "#src/inference/ports/LiveWatch.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import { HeldBytes } from "#src/platform/structures/HeldBytes.ts"
import { type Node, Nodes } from "#actors/ports/Nodes.ts"
import { Passwords } from "#src/management/authentication/Passwords.ts"
import { IssueTracker } from "#src/features/keys/issued/IssueTracker.ts"
import { type Candidate, type ProbeResult, ProviderProbe } from "#src/features/providers/ports/ProviderProbe.ts"
import { RoutingViews } from "#src/inference/ports/RoutingViews.ts"
import { Secrets } from "#actors/ports/Secrets.ts"
import { compilePath } from "#schemas/api/RouteTable.ts"
import * as Errors from "#schemas/errors.ts"
import type { LoginAttempts } from "#src/management/authentication/brake/LoginAttempts.ts"
import type { SignInStore } from "#src/features/oauth/ports/SignInStore.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import { TargetTests } from "#src/inference/ports/TargetTests.ts"
import { UrlBlocked, UrlGuard } from "#actors/ports/UrlGuard.ts"
import { Upstream } from "#actors/request/ports/Upstream.ts"
import * as AloneFeed from "#src/platform/cluster/AloneFeed.ts"
import * as LocalRecordLocks from "#src/platform/cluster/LocalRecordLocks.ts"
import * as TieredCache from "#src/features/cache/TieredCache.ts"
import * as CachedKeys from "#src/features/keys/CachedKeys.ts"
import * as EffectiveFlags from "#src/platform/configuration/EffectiveFlags.ts"
import * as StoredConfiguration from "#src/platform/configuration/StoredConfiguration.ts"
import * as ConnectionCredentials from "#src/features/oauth/tokens/ConnectionCredentials.ts"
import * as RefreshSweep from "#src/features/oauth/tokens/RefreshSweep.ts"
import * as NodeLimits from "#actors/limits/NodeLimits.ts"
import { Accounting } from "#actors/request/ports/Accounting.ts"
import * as MemoryLimitStore from "#src/features/limits/MemoryLimitStore.ts"
import * as StoredLimitLedger from "#src/features/limits/StoredLimitLedger.ts"
import * as MemorySignInStore from "#src/features/oauth/MemorySignInStore.ts"
import * as OAuthSignIns from "#src/features/oauth/OAuthSignIns.ts"
import * as Files from "#src/features/files/Files.ts"
import { EnvironmentKeys } from "#src/inference/ports/EnvironmentKeys.ts"
import * as ComboMetrics from "#src/features/combos/ComboMetrics.ts"
import * as MemoryLoginAttempts from "#src/management/authentication/brake/MemoryLoginAttempts.ts"
import * as KeyDevices from "#src/features/keys/KeyDevices.ts"
import * as LocalQuotas from "#src/features/quotas/LocalQuotas.ts"
import * as LocalResilience from "#src/features/resilience/LocalResilience.ts"
import * as Management from "#src/Management.ts"
import { ManagementOptions } from "#src/management/ManagementOptions.ts"
import { builtin, type Registry } from "#src/providers/Registry.ts"
import * as Sealer from "#src/platform/secrets/Sealer.ts"
import * as MemoryKeptReasoning from "#src/features/reasoning/MemoryKeptReasoning.ts"
import * as MemoryResponseCache from "./memoryResponseCache.ts"
import * as MemoryStores from "./memoryStores.ts"
import * as MemoryA2a from "./memoryA2a.ts"
import * as CallBodies from "#src/features/bodies/CallBodies.ts"
import { SimulatorFaults } from "#src/platform/configuration/SimulatorFaults.ts"
import * as MemoryBackups from "./memoryBackups.ts"
import { LogOutput } from "#src/platform/telemetry/Log.ts"
import { LogSink } from "#src/platform/telemetry/LogSink.ts"
import * as MemoryCatalogues from "./memoryCatalogues.ts"
import * as MemoryDatabase from "./memoryDatabase.ts"
import * as MemoryBodies from "./memoryBodies.ts"
import * as MemoryBatches from "./memoryBatches.ts"
import * as MemoryFiles from "./memoryFiles.ts"
import * as MemoryMcp from "./memoryMcp.ts"
import * as MemoryCloudTasks from "./memoryCloudTasks.ts"
import * as MemoryMcpServers from "./memoryMcpServers.ts"
import * as Purges from "#src/features/purges/Purges.ts"
import * as TaskRouting from "#src/features/taskRouting/TaskRouting.ts"
import * as RawOutputs from "#src/features/compression/rawOutputs/RawOutputs.ts"
import * as CompressionStatistics from "#src/features/compression/statistics/CompressionStatistics.ts"
import * as MemoryCompressionStatistics from "./memoryCompressionStatistics.ts"
import * as MemorySearchStatistics from "./memorySearchStatistics.ts"
import * as SearchStatistics from "#src/features/search/statistics/SearchStatistics.ts"
import { EnvFile } from "#src/features/environment/EnvFile.ts"
import { MasterSecret } from "#src/features/environment/MasterSecret.ts"
import * as MemoryMemories from "./memoryMemories.ts"
import * as MemoryProxies from "./memoryProxies.ts"
import * as MemorySyncTokens from "./memorySyncTokens.ts"
import * as MemoryPlugins from "./memoryPlugins.ts"
import * as MemorySkills from "./memorySkills.ts"
import * as MemoryTunnels from "./memoryTunnels.ts"
import * as MemoryWebhooks from "./memoryWebhooks.ts"

/** No file of variables, and no master key to put into one. */
const noEnvironment = Layer.merge(
  Layer.succeed(EnvFile, { path: "/dev/null/.env", process: {} }), Layer.succeed(MasterSecret, MasterSecret.of({ find: Effect.succeed(null) }))
)

export const PASSWORD = "correct horse battery"
export const MACHINE = "machine-under-test"
export const HOST = "gateway.test"

/** What a test may turn while the surface runs. */
export interface Dials {
  ready: boolean
  draining: boolean
  migrated: boolean
  stops: Array<string>
  reconciliation: Reconciliation
  probe: (candidate: Candidate) => ProbeResult
  probed: Array<Candidate>
  blocked: ReadonlySet<string>
  /** Host names that no resolver answers. */
  unresolved: ReadonlySet<string>
}

export const probeOk: ProbeResult = {
  valid: true, statusCode: 200, latencyMs: 5, diagnosis: null, method: "models", models: [{ id: "m-1", name: null }], blocked: false
}

const dialsAtRest = (): Dials => ({
  ready: true, draining: false, migrated: true, stops: [],
  reconciliation: { started: 3, settled: 2, journaled: 1, stored: 1, live: 1, gap: 0, oldestPendingMs: 5, lastError: null },
  probe: () => probeOk, probed: [], blocked: new Set(), unresolved: new Set()
})

/** Cheap and honest enough: the hash names its password only through the test's own secret. */
const passwords = Layer.effect(Passwords, Effect.map(Secrets, (secrets) => ({
  hash: (password) => Effect.sync(() => `mac$${secrets.mac("test-password", Redacted.value(password))}`),
  verify: (password, hash) => Effect.sync(() => hash === `mac$${secrets.mac("test-password", Redacted.value(password))}`)
})))

const self: Node = {
  id: "node-a", incarnation: "i-1", host: "host-a", address: "http://127.0.0.1:20128", pid: 42, worker: 0, release: "9.9.9", startedAt: 0
}

const doubles = (dials: Dials) => Layer.mergeAll(
  Layer.succeed(Lifecycle, {
    version: "9.9.9", startedAt: 0, nodeId: "node-a", ready: () => dials.ready, draining: () => dials.draining,
    migrated: () => dials.migrated, requestShutdown: (kind) => { dials.stops.push(kind) }
  }),
  Layer.succeed(Ledger, {
    open: (_start, opening) => opening.go(null), settle: () => {}, journal: () => {}, reconciliation: () => dials.reconciliation, flush: () => Effect.succeed(0)
  }),
  // No coding agent of the machine that the tests run on.
  Layer.succeed(Machine, { home: "/nonexistent", path: "", mounts: () => null }),
  AloneFeed.layerFeed,
  LocalRecordLocks.layer,
  // The simulator of this surface is turned off.
  Layer.succeed(SimulatorFaults, { play: () => Effect.succeed({ struck: () => 0 }) }),
  Layer.succeed(Nodes, { self, version: Effect.succeed(7), list: Effect.succeed([{ ...self, lastSeenAt: 1_000, silentMs: 12.5, version: 7, versionAt: 500 }]) }),
  Layer.succeed(Leases, {
    acquire: () => Effect.succeed({ _tag: "Unavailable" }), renew: () => Effect.succeed({ _tag: "Stale" }), release: () => Effect.succeed({ _tag: "Stale" }), move: () => Effect.succeed({ _tag: "Stale" }),
    find: () => null, end: () => {}, revoke: () => Effect.succeed(true), active: () => 1,
    list: Effect.succeed([{ owner: "ab".repeat(32), keyId: "k", keyPrint: "p", connection: "c", generation: 3, acquiredAt: 1_000, renewedAt: 2_000, expiresAt: 3_000 }])
  }),
  Layer.succeed(LiveCalls, { list: () => [], sessions: () => [] }),
  Layer.succeed(LiveWatch, { watch: () => {}, running: () => [] }),
  LiveChannel.layerAlone,
  Layer.succeed(LogOutput, { sink: new LogSink({ destination: { write: (bytes, done) => done(null, bytes.length) } }), format: "json" }),
  Layer.succeed(DashboardFiles, { isOn: true, isReady: Effect.succeed(true), built: Effect.succeed({ index: "<html lang=\"en\"><base href=\"./\">", assets: new Map() }) }),
  Layer.succeed(LiveOptions, { nodeId: "node-a", port: 0, host: "127.0.0.1", isShared: false, guard: () => false, clientAddress: (peer) => peer, allowedOrigins: [] }),
  Layer.succeed(FrontEnd, {
    direct: () => {}, socket: () => {}, serveFramed: () => {}, guard: () => {}, open: Effect.void, address: inetAddressFromStringUnsafe("127.0.0.1:20128"), port: 20128,
    heldBodies: new HeldBytes(0), liveExchanges: 0, connections: 0, draining: false, onDrain: () => () => {}, drain: Effect.void
  }),
  Layer.succeed(IssueTracker, { file: null }),
  Layer.succeed(IdempotencyView, { activeKeys: () => 2, windowMs: () => 5000 }),
  Layer.succeed(RoutingViews, { explain: () => Errors.make("model_not_found", "No routing here."), planned: () => Errors.make("model_not_found", "No routing here."), rehearse: () => () => Errors.make("model_not_found", "No routing here."), decision: () => null, decisions: () => [], lastGood: () => [] }),
  Layer.succeed(EvalCalls, { ask: () => Effect.succeed({ text: "42", error: null, status: 200, answeredBy: "a/m", latencyMs: 1 }) }),
  Layer.succeed(ConfigFile, {
    path: null, apply: Effect.succeed(null), last: () => null, follow: (file) => Effect.succeed({ file, at: "", error: null, entries: [] }), unfollow: Effect.succeed(0)
  }),
  Layer.effect(Appliers, Deferred.make<Applier>()),
  Layer.succeed(OwnCalls, { ask: () => Effect.succeed({ status: 200, headers: [], body: "{}" }) }),
  Layer.succeed(EvalScores, { of: () => new Map(), note: () => {} }),
  Layer.succeed(TargetTests, {
    test: ({ model, provider }) => Effect.sync(() => {
      const candidate: Candidate = { provider, authType: "apikey", credential: null, model, providerSpecificData: {}, wants: "chat" }
      dials.probed.push(candidate)
      const { diagnosis, latencyMs, statusCode, valid } = dials.probe(candidate)
      return { statusCode: statusCode ?? 504, error: valid ? null : diagnosis?.message ?? "refused", text: valid ? "OK" : null, latencyMs }
    })
  }),
  Layer.succeed(ProviderProbe, {
    probe: (candidate) => Effect.sync(() => {
      dials.probed.push(candidate)
      return dials.probe(candidate)
    })
  }),
  Layer.succeed(UrlGuard, {
    check: (url) => dials.blocked.has(new URL(url).hostname)
      ? Effect.fail(new UrlBlocked({ url, reason: "metadata", message: "The target is a cloud metadata address" }))
      : dials.unresolved.has(new URL(url).hostname)
      ? Effect.fail(new UrlBlocked({ url, reason: "unresolvable", message: "The name cannot be resolved" }))
      : Effect.succeed(["192.0.2.1"]),
    checkAddress: () => null
  })
)

export interface Options {
  /** A password is stored before the first call; default PASSWORD. */
  readonly password?: string | null
  readonly initialPassword?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly settings?: Readonly<Record<string, unknown>>
  /** Real Postgres instead of memory. */
  readonly stores?: typeof MemoryStores.layer
  /** The way out to token endpoints; default: nobody is there. */
  readonly upstream?: Layer.Layer<Upstream, never, UrlGuard>
  /** Providers whose sign-ins are offered; default the shipped ones. */
  readonly registry?: Registry
  /** Where sign-ins in progress are; default a memory of its own. */
  readonly signIns?: Layer.Layer<SignInStore>
  /** Where attempts to sign in are counted; default a memory of its own. */
  readonly loginAttempts?: Layer.Layer<LoginAttempts>
}

const missingPage = Layer.succeed(Upstream, {
  dispatch: (_request, handler) => {
    queueMicrotask(() => handler.onFailure({
      _tag: "UpstreamFailure", reason: "connect-refused", phase: "connect", source: "upstream", retry: "safe", message: "nobody is there"
    }))
    return { pause: () => {}, resume: () => {}, abort: () => {}, useful: () => {} }
  },
  stats: () => []
})

const limits = NodeLimits.layer({ defaultPerDay: 0, providerOf: (name) => builtin.byPrefix.get(name)?.id ?? null }).pipe(
  Layer.provide(Layer.mergeAll(MemoryLimitStore.layer("node-a"), StoredLimitLedger.layer({ lookUpMs: 1_000 }), Layer.succeed(Accounting, { cost: () => 0, estimate: () => 0 })))
)

const base = (options: Options, dials: Dials) => {
  const secrets = Layer.succeed(Secrets, Sealer.make({ current: Redacted.make("test master secret 0123456789"), previous: [] }))
  const seeded = Layer.effectDiscard(Effect.gen(function*() {
    const documents = yield* DocumentStore
    const store = yield* Passwords
    if (options.password !== null) yield* documents.put("password", "management", yield* store.hash(Redacted.make(options.password ?? PASSWORD)))
    for (const [name, value] of Object.entries(options.settings ?? {})) yield* documents.put("setting", name, value)
  }))
  const credentials = { environment: options.environment ?? {}, registry: options.registry ?? builtin, publicUrl: `http://${HOST}` }
  return Layer.mergeAll(MemoryMemories.surface, noEnvironment, RefreshSweep.layer(credentials), LocalQuotas.layer, MemoryMcpServers.surface, MemoryCloudTasks.layer, MemorySyncTokens.layer, MemorySkills.surface, MemoryPlugins.surface, MemoryTunnels.surface, MemoryBackups.surface, Purges.layer({ defaultPerDay: 0, usageDays: 365, auditDays: 365 }), CallBodies.layer, MemoryKeptReasoning.layer).pipe(Layer.provideMerge(Layer.mergeAll(
    ConnectionCredentials.layer(credentials),
    OAuthSignIns.layer(credentials).pipe(Layer.provide(options.signIns ?? MemorySignInStore.layer)),
    CachedKeys.layer({ lookUpMs: 1_000 }),
    options.loginAttempts ?? MemoryLoginAttempts.layer,
    KeyDevices.layer,
    ComboMetrics.layer,
    TieredCache.layer({ maxEntries: 100, maxBytes: 4 * 1024 * 1024, ttlMs: 1_800_000 }).pipe(Layer.provide(MemoryResponseCache.layer)),
    LocalResilience.layer,
    limits,
    Layer.succeed(ManagementOptions, {
      machineId: MACHINE, jwtSecret: null, cookieSecure: false, publicUrl: `http://${HOST}`, port: 20128, lookUpMs: 1_000, modelListsEveryMs: 0,
      initialPassword: options.initialPassword === undefined ? null : Redacted.make(options.initialPassword)
    })
  )),
    Layer.provideMerge(options.upstream ?? missingPage),
    Layer.provideMerge(Layer.provideMerge(Layer.provide(CompressionStatistics.layer, MemoryCompressionStatistics.layer), RawOutputs.layer)),
    Layer.provideMerge(MemoryDatabase.surface),
    Layer.provideMerge(MemoryCatalogues.surface),
    Layer.provideMerge(Layer.merge(TaskRouting.layer, Guardrails.layer({ threshold: "high", masksCredentials: false }))),
    Layer.provideMerge(EffectiveFlags.layer(options.environment ?? {})),
    Layer.provideMerge(StoredConfiguration.layer({ simulatorUrl: null, simulatorMode: "never" })),
    Layer.provideMerge(seeded),
    Layer.provideMerge(Layer.mergeAll(passwords, doubles(dials))),
    Layer.provideMerge(options.stores ?? MemoryStores.layer),
    Layer.provideMerge(Layer.provide(SearchStatistics.layer, MemorySearchStatistics.layer)),
    Layer.provideMerge(Layer.merge(MemoryMcp.surface, MemoryA2a.surface)),
    Layer.provideMerge(MemoryBatches.surface),
    Layer.provideMerge(Layer.succeed(EnvironmentKeys, new Map())),
    Layer.provideMerge(Files.layer.pipe(Layer.provideMerge(MemoryFiles.layer))),
    Layer.provideMerge(MemoryWebhooks.surface),
    Layer.provideMerge(Layer.mergeAll(MemoryBodies.layer, MemoryMemories.layer, MemoryProxies.surface)),
    Layer.provideMerge(secrets)
  )
}

export interface Ask {
  readonly method?: string
  readonly body?: unknown
  /** Sent as it is, instead of JSON of `body`. */
  readonly raw?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly cookie?: string
  readonly bearer?: string
  /** Peer address; default a remote one. */
  readonly from?: string
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  /** As they came, so also compressed. */
  readonly bytes: Buffer
  readonly text: string
  /** Parsed body; untyped on purpose: tests look into it. */
  readonly json: unknown
}

const peer = "x-test-peer"

/** A typed look into a reply: `at(reply.json, "error", "code")`. */
export const at = (value: unknown, ...path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>((inner, key) => typeof inner === "object" && inner !== null ? (inner as Record<string | number, unknown>)[key] : undefined, value)

const described = JSON.parse(fs.readFileSync(path.join(import.meta.dirname, "../../openapi.json"), "utf8")) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, unknown>> }>>>>
}
const patterns = Object.entries(described.paths).map(([path, methods]) => ({
  regexp: compilePath(path.replaceAll(/\{(\w+)\}/g, ":$1")), fixed: !path.includes("{"), methods
}))

/** Every status that any test meets stands in the description: a client that was generated from it has met them all. */
const checkDocumented = (method: string, target: string, status: number): void => {
  const at = target.split("?", 1)[0] ?? ""
  const fitting = patterns.filter(({ regexp }) => regexp.test(at))
  const found = fitting.find(({ fixed }) => fixed) ?? fitting[0]
  const responses = found?.methods[method.toLowerCase()]?.responses
  if (responses !== undefined && responses[status] === undefined) {
    throw new Error(`${method} ${at} answered ${status}, which openapi.json does not name for it (src/openapi/responses.ts)`)
  }
}


/** The surface over fresh doubles; every service it stands on is in the context, so that a test can look behind it. */
export const make = (options: Options = {}) => Effect.gen(function*() {
  const dials = dialsAtRest()
  const context = yield* Layer.build(base(options, dials))
  const app = yield* HttpRouter.toHttpEffect(Management.layer()).pipe(
    Effect.provideContext(context),
    Effect.provide(Layer.mergeAll(
      HttpServer.layerServices,
      Layer.succeed(HttpRouter.RouterConfig, { caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false })
    ))
  )
  const clock = yield* Effect.context<never>()
  const handler = HttpEffect.toWebHandlerWith(Context.merge(clock, Context.make(References.MinimumLogLevel, "None")))(
    Effect.updateService(app, HttpServerRequest.HttpServerRequest, (request) => {
      const address = Option.fromNullishOr(request.headers[peer])
      return request.modify({ remoteAddress: address, peerAddress: address })
    }) as Effect.Effect<never, never, never>
  )

  const ask = (path: string, asked: Ask = {}): Effect.Effect<Reply> => Effect.promise(async () => {
    const body = asked.raw ?? (asked.body === undefined ? undefined : JSON.stringify(asked.body))
    const headers = new Headers({ host: HOST, [peer]: asked.from ?? "203.0.113.7", ...asked.headers })
    if (body !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json")
    if (asked.cookie !== undefined) headers.set("cookie", `auth_token=${asked.cookie}`)
    if (asked.bearer !== undefined) headers.set("authorization", `Bearer ${asked.bearer}`)
    const method = asked.method ?? (body === undefined ? "GET" : "POST")
    const response = await handler(new Request(`http://${HOST}${path}`, { method, headers, ...(body === undefined ? {} : { body }) }))
    const bytes = Buffer.from(await response.arrayBuffer())
    const text = bytes.toString("utf8")
    checkDocumented(method, path, response.status)
    let json: unknown
    try {
      json = JSON.parse(text)
    } catch {
      json = undefined
    }
    return { status: response.status, headers: response.headers, bytes, text, json }
  })

  const cookieOf = (reply: Reply): string => /auth_token=([^;]*)/.exec(reply.headers.get("set-cookie") ?? "")?.[1] ?? ""

  /** Signs in and answers the cookie's value. */
  const login = (password: string = PASSWORD) => Effect.map(ask("/api/auth/login", { body: { password } }), cookieOf)

  /** A key with these scopes; answers its raw value. */
  const key = (scopes: ReadonlyArray<string>, more: Readonly<Record<string, unknown>> = {}) => Effect.gen(function*() {
    const cookie = yield* login()
    const reply = yield* ask("/api/keys", { cookie, body: { name: "k", scopes, ...more } })
    return { raw: String(at(reply.json, "key")), id: String(at(reply.json, "id")) }
  })

  return { ask, login, key, cookieOf, dials, context, advance: TestClock.adjust }
})
