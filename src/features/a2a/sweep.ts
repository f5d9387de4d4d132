/** Ends tasks that no node works on, and removes old ones: on one node for all. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Placement } from "#actors/ports/Placement.ts"
import * as Sweeps from "#actors/Sweeps.ts"
import * as A2aTask from "./ports/A2aTask.ts"
import { A2aTaskStore } from "./ports/A2aTaskStore.ts"
import { Pushes } from "./Pushes.ts"
import { LOST_MS } from "./Tasks.ts"

const EVERY_MS = 60_000
const FIRST_AFTER_MS = 30_000
/** Tasks that one round ends. */
const SLICE = 1_000

export const layer = Layer.effectDiscard(Effect.gen(function*() {
  const store = yield* A2aTaskStore
  const pushes = yield* Pushes
  const placement = yield* Placement
  const run = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    yield* Effect.forEach(yield* store.overdue(now, LOST_MS, SLICE), (task) => {
      const ended = task.expiresAt <= now ? A2aTask.overdue(task, now) : A2aTask.abandoned(task, now)
      return Effect.flatMap(store.save(ended), (isTaken) => isTaken ? pushes.tell(ended) : Effect.void)
    }, { discard: true })
    return yield* store.removeGone(now)
  })
  yield* placement.place("sweep/agent tasks", Sweeps.loop({ loop: "sweep/agent tasks", name: "agent tasks", everyMs: EVERY_MS, run }, FIRST_AFTER_MS))
}))
