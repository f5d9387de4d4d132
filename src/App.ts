/**
 * The only file that wires. Five tiers, each built on the ones before it; stopping runs them backwards, so that HTTP drains
 * first and the ledger is flushed after the last request has settled (DESIGN: actors, start order).
 */
import * as Crypto from "node:crypto"
import * as Os from "node:os"
import * as Path from "node:path"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { SqlClient } from "effect/sql/SqlClient"
import * as Supervisor from "#actors/Supervisor.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { isAlive, type Node, Nodes } from "#actors/ports/Nodes.ts"
import * as CooldownFeed from "#src/features/resilience/ports/CooldownFeed.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { NodeGroup } from "#actors/ports/NodeGroup.ts"
import * as Webhooks from "#actors/webhook/Webhooks.ts"
import { version } from "#schemas/version.ts"
import { Passwords } from "#src/management/authentication/Passwords.ts"
import type { Placement } from "#actors/ports/Placement.ts"
import type { Limits } from "#actors/request/Request.ts"
import * as Sweeps from "#actors/Sweeps.ts"
import { defaultPolicy, type ApiKey } from "#schemas/records/ApiKey.ts"
import * as GatewayAccounting from "#src/platform/accounting/GatewayAccounting.ts"
import { TokenEstimate } from "#src/platform/accounting/tokens/TokenEstimate.ts"
import * as JournaledLedger from "#src/platform/accounting/JournaledLedger.ts"
import { banner } from "#src/bootstrap/banner.ts"
import { describe as describeUnknown, unknownVariables } from "#src/bootstrap/unknownVariables.ts"
import * as FirstRun from "#src/bootstrap/FirstRun.ts"
import { nodeIdOf, processIdOf } from "#src/platform/configuration/nodeId.ts"
import * as NodeLifecycle from "#src/bootstrap/NodeLifecycle.ts"
import { LifecycleControl } from "#src/bootstrap/NodeLifecycle.ts"
import * as AloneFeed from "#src/platform/cluster/AloneFeed.ts"
import * as LocalPlacement from "#src/platform/cluster/LocalPlacement.ts"
import * as PolledFeed from "#src/platform/cluster/PolledFeed.ts"
import * as RedisBell from "#src/platform/cluster/RedisBell.ts"
import * as StoredNodeGroup from "#src/platform/cluster/StoredNodeGroup.ts"
import * as Worker from "#src/platform/cluster/workers/Worker.ts"
import * as CachedKeys from "#src/features/keys/CachedKeys.ts"
import * as EffectiveFlags from "#src/platform/configuration/EffectiveFlags.ts"
import * as StoredConfiguration from "#src/platform/configuration/StoredConfiguration.ts"
import * as ConnectionCredentials from "#src/features/oauth/tokens/ConnectionCredentials.ts"
import * as RefreshSweep from "#src/features/oauth/tokens/RefreshSweep.ts"
import * as MemorySignInStore from "#src/features/oauth/MemorySignInStore.ts"
import * as OAuthSignIns from "#src/features/oauth/OAuthSignIns.ts"
import * as ConnectionMarks from "#src/inference/lane/ConnectionMarks.ts"
import { features } from "./features.ts"
import * as Inference from "./Inference.ts"
import * as Models from "#src/inference/models/Models.ts"
import { inferenceRoutes } from "./inferenceRoutes.ts"
import * as ManagementHttp from "./Management.ts"
import { ManagementOptions } from "#src/management/ManagementOptions.ts"
import * as MemoryLoginAttempts from "#src/management/authentication/MemoryLoginAttempts.ts"
import * as PostgresClient from "#src/platform/postgres/PostgresClient.ts"
import * as PostgresStores from "./Stores.ts"
import * as RepositoryIssues from "#src/features/keys/issued/RepositoryIssues.ts"
import * as Feature from "#src/management/Feature.ts"
import { orShared } from "#src/platform/redis/orShared.ts"
import * as Registry from "#src/providers/Registry.ts"
import * as Redis from "#src/platform/redis/RedisStore.ts"
import type { RedisStore } from "#src/platform/redis/RedisStore.ts"
import * as LocalQuotas from "#src/features/quotas/LocalQuotas.ts"
import * as LocalResilience from "#src/features/resilience/LocalResilience.ts"
import * as Fingerprint from "#src/platform/secrets/Fingerprint.ts"
import * as Password from "#src/platform/secrets/Password.ts"
import * as Sealer from "#src/platform/secrets/Sealer.ts"
import * as FrontDoor from "#src/FrontDoor.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import type { Settings } from "#src/platform/configuration/Settings.ts"
import * as Simulator from "#src/simulator/Simulator.ts"
import * as GatewayTelemetry from "#src/platform/telemetry/GatewayTelemetry.ts"
import * as Log from "#src/platform/telemetry/Log.ts"
import * as Otlp from "#src/platform/telemetry/Otlp.ts"
import * as UpstreamProviderProbe from "#src/features/providers/probe/UpstreamProviderProbe.ts"
import * as HttpUpstream from "#src/platform/upstream/HttpUpstream.ts"
import * as EventTelemetry from "#src/features/webhooks/EventTelemetry.ts"
import * as FiledEvents from "#src/features/webhooks/FiledEvents.ts"
import * as HttpSender from "#src/features/webhooks/HttpSender.ts"
import * as LedgerEvents from "#src/features/webhooks/LedgerEvents.ts"
import * as UrlGuard from "#src/platform/upstream/UrlGuard.ts"

type Values = Settings["Service"]

const limitsOf = (settings: Values): Limits => {
  const request = settings.requestTimeoutMs
  return {
    timeouts: {
      connect: settings.connectTimeoutMs,
      headers: request ?? settings.headersTimeoutMs ?? settings.fetchTimeoutMs,
      firstEvent: settings.readinessTimeoutMs,
      idle: request ?? settings.idleTimeoutMs,
      total: settings.totalTimeoutMs
    },
    maxAttempts: settings.maxAttempts,
    pulse: { heartbeatMs: settings.heartbeatMs, earlyMs: settings.earlyKeepAliveMs },
    drainForUsageMs: settings.drainForUsageMs
  }
}

/** GATEWAY_API_KEY and ROUTER_API_KEY act as permanent keys with full inference access. */
const environmentKeys = (settings: Values): ReadonlyMap<string, ApiKey> => {
  const keys = new Map<string, ApiKey>()
  for (const [name, secret] of [["GATEWAY_API_KEY", settings.gatewayApiKey], ["ROUTER_API_KEY", settings.routerApiKey]] as const) {
    if (secret === null) continue
    const keyHash = Crypto.hash("sha256", Redacted.value(secret), "hex")
    keys.set(keyHash, {
      id: `env:${name}`, name, keyHash, keyPrefix: "", keySuffix: "", sealedKey: null, machineId: "", issuerId: null, isPermanent: true, policy: defaultPolicy,
      createdAt: "", updatedAt: "", lastUsedAt: null, revokedAt: null
    })
  }
  return keys
}

/** Tier 0: where log lines go; everything built on it logs there. */
const logs = (settings: Values) => Log.layer({
  level: logLevels[settings.logLevel],
  format: settings.logFormat === "auto" ? (process.stdout.isTTY ? "pretty" : "json") : settings.logFormat
})

const logLevels = { debug: "Debug", info: "Info", warn: "Warn", error: "Error" } as const

/** Failures are always logged; of successes every n-th. */
const accessLogEvery = { off: 0, errors: Number.POSITIVE_INFINITY, all: 1 } as const

const otlp = (settings: Values) => settings.otlpEndpoint === null ? Otlp.layerOff : Otlp.layer({
  endpoint: settings.otlpEndpoint,
  headers: otlpHeaders(settings.otlpHeaders),
  protocol: "json",
  serviceName: "gateway",
  serviceVersion: version,
  nodeId: processIdOf(settings),
  traces: true,
  metrics: true,
  logs: true
})

/** `name=value,name=value`, as the OpenTelemetry variable has it. */
const otlpHeaders = (text: Redacted.Redacted<string> | null): Record<string, Redacted.Redacted> => {
  const headers: Record<string, Redacted.Redacted> = {}
  for (const pair of text === null ? [] : Redacted.value(text).split(",")) {
    const equals = pair.indexOf("=")
    if (equals > 0) headers[pair.slice(0, equals).trim()] = Redacted.make(pair.slice(equals + 1).trim())
  }
  return headers
}

/** Tier 2: secrets and the record stores, migrated. */
const records = (settings: Values) => {
  const secrets = Sealer.layer({
    dataDir: settings.dataDir,
    secret: settings.secret ?? undefined,
    previous: settings.previousSecrets === null
      ? undefined
      : Redacted.value(settings.previousSecrets).split(",").map((text) => text.trim()).filter((text) => text !== "").map((text) => Redacted.make(text))
  })
  const client = settings.databaseUrl === null
    ? Layer.orDie(PostgresClient.pgliteLayer({ dataDir: settings.dataDir }))
    : Layer.orDie(PostgresClient.layer({ url: settings.databaseUrl, poolSize: settings.databasePool }))
  return Layer.effectDiscard(Fingerprint.check).pipe(
    Layer.provideMerge(PostgresStores.layer({ lookUpMs: settings.lookUpMs })),
    Layer.provideMerge(client),
    Layer.provideMerge(secrets)
  )
}

/** Redis, where there is one; its driver is loaded only then. */
const sharedStore = (settings: Values): Layer.Layer<RedisStore> => {
  const { redisUrl: url } = settings
  return url === null ? Redis.layerAbsent : Layer.unwrap(Effect.map(
    Effect.promise(() => import("#src/platform/redis/IoRedisStore.ts")),
    (IoRedisStore) => IoRedisStore.layer({ url, prefix: settings.redisPrefix, deadlineMs: settings.redisTimeoutMs })
  ))
}

/** Tier 2, too: the other nodes on the same records, and what they change. */
const cluster = (settings: Values, startedAt: number) => Layer.unwrap(Effect.gen(function*() {
  const front = yield* FrontEnd
  const id = processIdOf(settings)
  const self: Node = {
    id,
    incarnation: Crypto.randomUUID(),
    host: Os.hostname(),
    address: `${settings.tlsCert === null ? "http" : "https"}://${settings.host.includes(":") ? `[${settings.host}]` : settings.host}:${front.port}`,
    pid: process.pid,
    worker: settings.worker,
    release: version,
    startedAt
  }
  if (settings.databaseUrl === null) return AloneFeed.layer(self)
  return PolledFeed.layer({ self, bell: settings.redisUrl === null ? null : yield* RedisBell.make(id) })
})).pipe(Layer.provideMerge(sharedStore(settings)))

/** Work of one node at a time; the engine that places it costs 180 ms to load, so it is loaded only where there are several. */
const placement = (settings: Values): Layer.Layer<Placement, never, SqlClient> =>
  settings.databaseUrl === null || settings.redisUrl === null ? LocalPlacement.layer : Layer.unwrap(Effect.map(
    Effect.promise(() => import("#src/platform/cluster/ShardedPlacement.ts")),
    (ShardedPlacement) => ShardedPlacement.layer(processIdOf(settings))
  ))

const passwords = Layer.succeed(Passwords, { hash: Password.hash, verify: Password.verify })

/** The simulator of newcomers: a real upstream on loopback, never a shortcut inside the pipeline. */
const simulator = Simulator.layer({ defaults: { paceMs: 30 } })

/** Sign-ins to providers; their redirect comes back to the address that browsers know, and to any node behind it. */
const signIns = (settings: Values) => {
  const store = orShared(settings, MemorySignInStore.layer, async () => (await import("#src/features/oauth/RedisSignInStore.ts")).layer)
  return Layer.unwrap(Effect.map(FrontEnd, (front) => OAuthSignIns.layer({
    environment: settings.environment,
    publicUrl: settings.publicUrl?.replace(/\/+$/, "") ?? `${settings.tlsCert === null ? "http" : "https"}://localhost:${front.port}`
  }))).pipe(Layer.provide(store))
}

/** The node's own breakers, cooldowns and lockouts; with a Redis they are everybody's. */
const resilience = (settings: Values) => {
  const queue = { maxWaitMs: settings.queueMaxWaitMs, maxQueueDepth: settings.queueMaxDepth }
  if (settings.redisUrl === null) return Layer.provide(LocalResilience.layerWith(queue), CooldownFeed.layerAlone)
  return Layer.unwrap(Effect.gen(function*() {
    const { list } = yield* Nodes
    const sharedResilience = yield* Effect.promise(() => import("#src/features/resilience/redis/sharedResilience.ts"))
    const countNodes = Effect.map(list, (nodes) => nodes.filter(isAlive).length)
    return sharedResilience.layer(processIdOf(settings), LocalResilience.layerWith({ ...queue, countNodes }))
  }))
}

/** Tier 3: configuration, flags, keys, and the way out. */
const shared = (settings: Values) => {
  const configuration = Layer.unwrap(Effect.gen(function*() {
    const sim = settings.simulator === "false" ? null : yield* Simulator.Simulator
    return StoredConfiguration.layer({
      simulatorUrl: sim === null ? null : `${sim.url}/v1`,
      simulatorMode: settings.simulator === "true" ? "always" : settings.simulator === "auto" ? "auto" : "never"
    })
  }))
  const upstream = Layer.unwrap(Effect.gen(function*() {
    const sim = yield* Simulator.Simulator
    return HttpUpstream.layer({
      hop: (yield* NodeGroup).id,
      keepAliveMs: settings.keepAliveTimeoutMs,
      connections: settings.upstreamConnections,
      isTrusted: (origin) => origin === sim.url
    })
  }))
  return Layer.mergeAll(RefreshSweep.layer(), LocalQuotas.layer).pipe(
    Layer.provideMerge(Layer.mergeAll(CachedKeys.layer({ lookUpMs: settings.lookUpMs }), ConnectionMarks.layer, ConnectionCredentials.layer({ environment: settings.environment }), resilience(settings), signIns(settings))),
    Layer.provideMerge(upstream),
    Layer.provideMerge(StoredNodeGroup.layer),
    Layer.provideMerge(UrlGuard.layer()),
    Layer.provideMerge(EffectiveFlags.layer(settings.environment)),
    Layer.provideMerge(configuration),
    Layer.provideMerge(simulator)
  )
}

const tokenizer = Layer.unwrap(Effect.gen(function*() {
  const clock = yield* Clock.Clock
  const onLost = yield* Supervisor.reporter("tokenizer")
  const tokens = yield* Effect.acquireRelease(
    Effect.sync(() => new TokenEstimate({ onLost, now: () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6 })),
    (estimate) => Effect.sync(() => estimate.close())
  )
  return GatewayAccounting.layer((text) => tokens.estimate(text))
}))

/** How often a node looks for jobs and changed webhooks of others: at once where there are others, else for what was not kept, ms. */
const webhookPollMs = { several: 1_000, alone: 15_000 } as const

/** Between the tiers: who hears of events outside, before anything has one to tell. */
const webhooks = (settings: Values) => FiledEvents.layer({
  directory: Path.join(settings.dataDir, "events"), processId: processIdOf(settings)
}).pipe(
  Layer.provideMerge(Webhooks.layer({
    owner: processIdOf(settings), pollMs: settings.databaseUrl === null ? webhookPollMs.alone : webhookPollMs.several
  })),
  Layer.provide(HttpSender.layer())
)

/** One of several workers answers a scrape for all of them. */
const telemetry = (settings: Values, startedAt: number) => {
  const own = EventTelemetry.layer.pipe(Layer.provide(Layer.unwrap(Effect.map(FrontEnd, ({ heldBodies }) =>
    GatewayTelemetry.layer({ accessLogEvery: accessLogEvery[settings.accessLog], startedAt, registry: Registry.builtin, heldBodies })))))
  return settings.worker === 0 ? own : Layer.provide(Layer.unwrap(Effect.map(
    Effect.promise(() => import("#src/platform/cluster/workers/WorkerTelemetry.ts")),
    (WorkerTelemetry) => WorkerTelemetry.layer
  )), own)
}

/** Tier 4: the ledger and its money. */
const accounting = (settings: Values, startedAt: number) => Layer.mergeAll(
  telemetry(settings, startedAt),
  tokenizer
).pipe(
  Layer.provideMerge(JournaledLedger.layer({ directory: Path.join(settings.dataDir, "journal"), nodeId: processIdOf(settings) }).pipe(
    Layer.provide(LedgerEvents.layer)
  ))
)

const issueTracker = ({ issuesApi, issuesRepository, issuesToken }: Values) =>
  RepositoryIssues.layer({ repository: issuesRepository, token: issuesToken, api: issuesApi })

const managementOptions = (settings: Values) => Layer.effect(ManagementOptions, Effect.map(FrontEnd, (front) => ({
  machineId: nodeIdOf(settings),
  jwtSecret: settings.jwtSecret,
  cookieSecure: settings.secureCookie === "true",
  initialPassword: settings.initialPassword,
  port: front.port,
  lookUpMs: settings.lookUpMs,
  modelListsEveryMs: settings.modelListsEveryMs
})))

/** Attempts to sign in: counted here alone, or with the other nodes. */
const loginAttempts = (settings: Values) =>
  orShared(settings, MemoryLoginAttempts.layer, async () => (await import("#src/management/authentication/RedisLoginAttempts.ts")).layer)

/** Tier 5: the endpoints. */
const http = (settings: Values) =>
  HttpRouter.serve(Layer.mergeAll(Models.routes, ManagementHttp.layer(inferenceRoutes)), {
    disableLogger: true,
    disableListenLog: true,
    routerConfig: { caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false }
  }).pipe(
    Layer.provide(Layer.mergeAll(UpstreamProviderProbe.layer, managementOptions(settings), loginAttempts(settings), issueTracker(settings), HttpServer.layerServices)),
    Layer.provideMerge(Inference.layer({
      metricsAccess: settings.metricsAccess,
      lane: {
        limits: limitsOf(settings),
        maxBodyBytes: settings.maxBodyBytes,
        graceMs: settings.shutdownTimeoutMs,
        sseComments: settings.sseComments === "on",
        environmentKeys: environmentKeys(settings),
        ownHops: settings.ownHops,
        emergencyModel: settings.emergencyModel
      }
    })),
    Layer.provideMerge(Feature.merged(Feature.parts(features, "services").map((services) => services(settings))))
  )

/** What happens once, between the last tier and the banner. */
const firstRun = (settings: Values, settle: () => void) => Layer.effectDiscard(Effect.gen(function*() {
  const control = yield* LifecycleControl
  const front = yield* FrontEnd
  const flags = yield* Flags
  const configuration = yield* Configuration
  control.markMigrated()
  const password = yield* FirstRun.ensurePassword(settings.initialPassword)
  yield* FirstRun.importProviderKeys(settings.environment, Registry.builtin.all)
  front.onDrain(control.markDraining)
  settle()
  control.markReady()
  const scheme = settings.tlsCert === null ? "http" : "https"
  const host = settings.host.includes(":") ? `[${settings.host}]` : settings.host
  yield* front.open
  const text = banner({
    url: `${scheme}://${host}:${front.port}`,
    version,
    password: password === null ? null : Redacted.value(password),
    model: configuration.current().simulatorUrl === null ? null : "sim/echo",
    requireApiKey: flags.isOn("REQUIRE_API_KEY"),
    loopback: settings.host === "localhost" || settings.host === "::1" || settings.host.startsWith("127."),
    records: settings.databaseUrl === null ? `embedded Postgres in ${Path.resolve(settings.dataDir)}` : "Postgres server",
    unknownVariables: unknownVariables(settings.environment, Registry.builtin.all).map(describeUnknown),
    workers: settings.workers
  })
  // One of several says it to its supervisor, who says it once.
  yield* settings.worker === 0 ? Console.log(text) : Worker.ready(text)
}))

/** Everything behind the front door, which is open already; `settle` runs last, before readiness is announced. */
export const behindDoor = (settings: Values, startedAt: number, settle: () => void = () => {}) =>
  firstRun(settings, settle).pipe(
    Layer.provideMerge(http(settings)),
    Layer.provideMerge(accounting(settings, startedAt)),
    Layer.provideMerge(webhooks(settings)),
    Layer.provideMerge(shared(settings)),
    Layer.provideMerge(Layer.provideMerge(Sweeps.layer({ usageDays: settings.usageDays }), placement(settings))),
    Layer.provideMerge(cluster(settings, startedAt)),
    Layer.provideMerge(Layer.mergeAll(passwords, records(settings))),
    Layer.provideMerge(NodeLifecycle.layer({ nodeId: processIdOf(settings), startedAt })),
    Layer.provideMerge(otlp(settings)),
    Layer.provideMerge(logs(settings))
  )

/** The whole gateway as one layer; it runs as long as its scope. */
export const layer = (settings: Values, startedAt: number) =>
  behindDoor(settings, startedAt).pipe(Layer.provideMerge(FrontDoor.layer(settings)))
