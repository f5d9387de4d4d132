/** A node's resilience as one of several: its breakers, cooldowns and lockouts are shared with all nodes. */
import * as Layer from "effect/Layer"
import type { CooldownFeed } from "#src/features/resilience/ports/CooldownFeed.ts"
import type { Resilience } from "#actors/request/ports/Resilience.ts"
import type { ResilienceControl } from "#src/features/resilience/ports/ResilienceControl.ts"
import * as RedisCooldownFeed from "./RedisCooldownFeed.ts"
import * as SharedBreakers from "./SharedBreakers.ts"

/** Over the node's `own`, which stays beneath. */
export const layer = <A, E, R>(nodeId: string, own: Layer.Layer<A | Resilience | ResilienceControl, E, R | CooldownFeed>) =>
  Layer.provideMerge(SharedBreakers.layer(nodeId), own).pipe(Layer.provide(RedisCooldownFeed.layer(nodeId)))
