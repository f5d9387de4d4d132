/** Where work of one node at a time runs. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Placement } from "#actors/ports/Placement.ts"
import { processIdOf } from "#src/platform/configuration/nodeId.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"
import * as LocalPlacement from "./LocalPlacement.ts"

/** The engine that places work costs 180 ms to load, so it is loaded only where there are several nodes. */
export const layerOf = (settings: Values): Layer.Layer<Placement, never, SqlClient> =>
  settings.databaseUrl === null || settings.redisUrl === null ? LocalPlacement.layer : Layer.unwrap(Effect.map(
    Effect.promise(() => import("./ShardedPlacement.ts")),
    (ShardedPlacement) => ShardedPlacement.layer(processIdOf(settings))
  ))
