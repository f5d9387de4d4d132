/**
 * The only file that wires: a list of tiers, each built on the ones before it. Stopping runs them backwards, so that HTTP drains first
 * and the ledger is flushed after the last request has settled. Every layer is built from the settings beside its own module.
 */
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServer from "effect/http/HttpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Sweeps from "#actors/Sweeps.ts"
import * as NodeLifecycle from "#src/bootstrap/NodeLifecycle.ts"
import * as Opening from "#src/bootstrap/Opening.ts"
import * as Models from "#src/inference/models/Models.ts"
import * as Passwords from "#src/management/authentication/Passwords.ts"
import * as Feature from "#src/management/Feature.ts"
import * as KitServices from "#src/management/kitServices.ts"
import * as GatewayAccounting from "#src/platform/accounting/GatewayAccounting.ts"
import * as JournaledLedger from "#src/platform/accounting/JournaledLedger.ts"
import * as ClusterFeed from "#src/platform/cluster/clusterFeed.ts"
import * as Placement from "#src/platform/cluster/placement.ts"
import * as StoredNodeGroup from "#src/platform/cluster/StoredNodeGroup.ts"
import * as RecordLocks from "#src/platform/cluster/recordLocks.ts"
import * as ProcessTelemetry from "#src/platform/cluster/workers/processTelemetry.ts"
import * as EffectiveFlags from "#src/platform/configuration/EffectiveFlags.ts"
import type { Settings } from "#src/platform/configuration/Settings.ts"
import * as StoredConfiguration from "#src/platform/configuration/StoredConfiguration.ts"
import * as PostgresClient from "#src/platform/postgres/PostgresClient.ts"
import * as SharedStore from "#src/platform/redis/sharedStore.ts"
import * as Fingerprint from "#src/platform/secrets/Fingerprint.ts"
import * as Sealer from "#src/platform/secrets/Sealer.ts"
import { exactPaths } from "#src/platform/server/ServerOptions.ts"
import * as Spool from "#src/platform/spool/Spool.ts"
import * as Otlp from "#src/platform/telemetry/Otlp.ts"
import * as HttpUpstream from "#src/platform/upstream/HttpUpstream.ts"
import * as AddressGuard from "#src/platform/upstream/AddressGuard.ts"
import * as TunnelCounts from "#src/platform/upstream/egress/TunnelCounts.ts"
import * as NewcomersSimulator from "#src/simulator/newcomers/NewcomersSimulator.ts"
import { features } from "./features.ts"
import * as FrontDoor from "./FrontDoor.ts"
import * as Inference from "./Inference.ts"
import { inferenceRoutes } from "./inferenceRoutes.ts"
import * as Management from "./Management.ts"
import * as Stores from "./Stores.ts"

/** Tier 2: where spans and uploads go, and what state the process is in. */
const processState = (settings: Settings["Service"], startedAt: number) => NodeLifecycle.layerOf(settings, startedAt).pipe(
  Layer.provideMerge(Otlp.layerOf(settings)),
  Layer.provideMerge(Spool.layerOf(settings))
)

/** Tier 3: secrets, and the record stores behind their migrations. */
const records = (settings: Settings["Service"]) => Layer.merge(Passwords.layer, Fingerprint.layer).pipe(
  Layer.provideMerge(Stores.layer(settings)),
  Layer.provideMerge(PostgresClient.layerOf(settings)),
  Layer.provideMerge(Sealer.layerOf(settings))
)

/** Tier 4: the other nodes on the same records, and the work that one of them does for all. */
const cluster = (settings: Settings["Service"]) => Sweeps.layer(settings).pipe(
  Layer.provideMerge(Placement.layerOf(settings)),
  Layer.provideMerge(ClusterFeed.layerOf(settings)),
  Layer.provideMerge(RecordLocks.layerOf(settings)),
  Layer.provideMerge(SharedStore.layerOf(settings))
)

/** Tier 5: configuration, flags, and the way out. */
const upstream = (settings: Settings["Service"]) => HttpUpstream.layerOf(settings).pipe(
  Layer.provideMerge(Layer.merge(StoredNodeGroup.layer, TunnelCounts.layer)),
  Layer.provideMerge(AddressGuard.layer()),
  Layer.provideMerge(EffectiveFlags.layer(settings.environment)),
  Layer.provideMerge(StoredConfiguration.layerOf(settings)),
  Layer.provideMerge(NewcomersSimulator.layer)
)

/** Tier 6: what features share: keys, credentials, breakers. */
const shared = (settings: Settings["Service"]) => Feature.merged(Feature.parts(features, "shared").map((layerOf) => layerOf(settings)))

/** Tier 7: the listeners of events, before any later tier publishes one. */
const listeners = (settings: Settings["Service"]) => Feature.merged(Feature.parts(features, "listeners").map((layerOf) => layerOf(settings)))

/** Tier 8: the ledger, its money, and the figures. */
const accounting = (settings: Settings["Service"]) => Layer.merge(ProcessTelemetry.layerOf(settings), GatewayAccounting.layerTokenizer).pipe(
  Layer.provideMerge(JournaledLedger.layerOf(settings))
)

/** Tier 9: what requests and handlers ask of the features. */
const services = (settings: Settings["Service"]) => Feature.merged(Feature.parts(features, "services").map((layerOf) => layerOf(settings)))

/** Tier 10, above the lane and its routes: the endpoints of the router. */
const endpoints = (settings: Settings["Service"]) => HttpRouter.serve(Layer.merge(Models.routes, Management.layer(inferenceRoutes)), {
  disableLogger: true,
  disableListenLog: true,
  routerConfig: exactPaths
}).pipe(Layer.provide(Layer.merge(KitServices.layerOf(settings), HttpServer.layerServices)))

/** Everything behind the front door, which is open already; `compact` runs when all is loaded. */
export const behindDoor = (settings: Settings["Service"], startedAt: number, compact: Effect.Effect<void> = Effect.void) =>
  Opening.layerOf(settings, compact).pipe(
    Layer.provideMerge(endpoints(settings)),
    Layer.provideMerge(Inference.layer(settings)),
    Layer.provideMerge(services(settings)),
    Layer.provideMerge(accounting(settings)),
    Layer.provideMerge(listeners(settings)),
    Layer.provideMerge(shared(settings)),
    Layer.provideMerge(upstream(settings)),
    Layer.provideMerge(cluster(settings)),
    Layer.provideMerge(records(settings)),
    Layer.provideMerge(processState(settings, startedAt))
  )

/** The whole gateway as one layer, from tier 1 on; it runs as long as its scope. */
export const layer = (settings: Settings["Service"], startedAt: number) =>
  behindDoor(settings, startedAt).pipe(Layer.provideMerge(FrontDoor.layer(settings)))
