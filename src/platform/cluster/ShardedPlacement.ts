/**
 * Placement over several nodes: effect's cluster on the shared Postgres. Each node holds its share of the shards by advisory locks on
 * one connection; a singleton runs where its shard is. Nodes send each other nothing, so nothing listens anywhere.
 */
import * as RunnerAddress from "effect/cluster/RunnerAddress"
import * as MessageStorage from "effect/cluster/MessageStorage"
import * as RunnerHealth from "effect/cluster/RunnerHealth"
import * as Runners from "effect/cluster/Runners"
import * as Sharding from "effect/cluster/Sharding"
import * as ShardingConfig from "effect/cluster/ShardingConfig"
import * as SqlRunnerStorage from "effect/cluster/SqlRunnerStorage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Placement } from "#actors/ports/Placement.ts"
import * as PlacementOutage from "./PlacementOutage.ts"

/** Shards of all placed work: enough to spread it over some nodes, few enough to cost one short statement. */
const SHARDS = 16
/** A node loses its shards after this silence, seconds; the database ends its session then, too. */
export const EXPIRES_S = 10
/** How often a node writes its heartbeat and looks for free shards, seconds. */
const REFRESH_S = 2

export const layer = (nodeId: string) =>
  Layer.effect(Placement, Effect.map(Sharding.Sharding, (sharding) => ({
    place: (name, work) => sharding.registerSingleton(name, work)
  }))).pipe(
    Layer.provide(Sharding.layer),
    Layer.provide([Layer.provideMerge(Runners.layerNoop, MessageStorage.layerNoop), RunnerHealth.layerNoop]),
    Layer.provide(PlacementOutage.layer),
    Layer.provide(Layer.orDie(SqlRunnerStorage.layerWith({ prefix: "placement" }))),
    Layer.provide(ShardingConfig.layer({
      // A name, not an address: no client connects to it.
      runnerAddress: Option.some(RunnerAddress.make(nodeId, 0)),
      shardsPerGroup: SHARDS,
      shardLockExpiration: `${EXPIRES_S} seconds`,
      shardLockRefreshInterval: `${REFRESH_S} seconds`,
      refreshAssignmentsInterval: `${REFRESH_S} seconds`
    }))
  )
