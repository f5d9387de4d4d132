/** The node's own breakers, cooldowns and lockouts; with a Redis they are heard by all nodes. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { isAlive, Nodes } from "#actors/ports/Nodes.ts"
import { processIdOf } from "#src/platform/configuration/nodeId.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"
import * as LocalResilience from "./LocalResilience.ts"
import * as CooldownFeed from "./ports/CooldownFeed.ts"

export const layerOf = (settings: Values) => {
  const queue = { maxWaitMs: settings.queueMaxWaitMs, maxQueueDepth: settings.queueMaxDepth }
  if (settings.redisUrl === null) return Layer.provide(LocalResilience.layerWith(queue), CooldownFeed.layerAlone)
  return Layer.unwrap(Effect.gen(function*() {
    const { list } = yield* Nodes
    const SharedResilience = yield* Effect.promise(() => import("./redis/SharedResilience.ts"))
    const countNodes = Effect.map(list, (nodes) => nodes.filter(isAlive).length)
    return SharedResilience.layer(processIdOf(settings), LocalResilience.layerWith({ ...queue, countNodes }))
  }))
}
