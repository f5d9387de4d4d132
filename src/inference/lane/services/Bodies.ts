/** The threads that read large bodies of all requests and answers; stages ask them, too. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Supervisor from "#actors/Supervisor.ts"
import { BodyWorkers, threadsOf } from "#src/inference/lane/bodies/BodyWorkers.ts"

export class Bodies extends Context.Service<Bodies, BodyWorkers>()("gateway/lane/Bodies") {}

export const layer = Layer.effect(Bodies, Effect.gen(function*() {
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const onLost = yield* Supervisor.reporter("body threads")
  return yield* Effect.acquireRelease(
    Effect.sync(() => new BodyWorkers({ ...threadsOf(), onDefect: (text) => void run(Effect.logError(text)), onLost })),
    (workers) => Effect.sync(() => workers.close())
  )
}))
