import * as Effect from "effect/Effect"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Settings from "#src/Settings.ts"
import { serve } from "./serve.ts"
export const run = (_args: ReadonlyArray<string>) => {
  const startedAt = Date.now()
  NodeRuntime.runMain(Effect.gen(function*() {
    const values = yield* Effect.fromResult(Settings.decode(process.env))
    return yield* serve({ ...values, environment: process.env }, startedAt)
  }))
}
