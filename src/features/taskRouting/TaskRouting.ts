/** What is switched on, read once per configuration, and what was counted. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Counts } from "./Counts.ts"
import * as Rules from "./rules.ts"

export class TaskRouting extends Context.Service<TaskRouting, {
  /** Null while nothing is switched on: every request asks for it. */
  readonly rules: () => Rules.Rules | null
  readonly counts: Counts
}>()("gateway/features/taskRouting/TaskRouting") {}

const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const clock = yield* Clock.Clock
  const read = () => Rules.of(configuration.current().settings)
  let rules = read()
  const unsubscribe = configuration.onChange(() => {
    rules = read()
  })
  yield* Effect.addFinalizer(() => Effect.sync(unsubscribe))
  return TaskRouting.of({ rules: () => rules, counts: new Counts(() => clock.currentTimeMillisUnsafe()) })
})

export const layer = Layer.effect(TaskRouting, make)
