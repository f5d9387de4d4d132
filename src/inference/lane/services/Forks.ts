/** Runs what the synchronous path starts and does not wait for; it ends with the lane. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import type { Fork } from "#src/inference/lane/stages/Stages.ts"

export class Forks extends Context.Service<Forks, {
  /** Answers the way to interrupt it. */
  readonly fork: Fork
  /** ms since the epoch. */
  readonly now: () => number
}>()("gateway/lane/Forks") {}

export const layer = Layer.effect(Forks, Effect.gen(function*() {
  const run = yield* FiberSet.makeRuntime<never, void, never>()
  const clock = yield* Clock.Clock
  return {
    fork: (effect) => {
      const fiber = run(effect)
      return () => fiber.interruptUnsafe()
    },
    now: () => clock.currentTimeMillisUnsafe()
  }
}))
