/** A command whose scope never closes, for the launcher's tests: argument `service` makes it one that ends by a signal. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { Launcher, run } from "#src/cli/Launcher.ts"

const [kind, stopMs = "0"] = process.argv.slice(2)

run(Effect.scoped(Effect.gen(function*() {
  const launcher = yield* Launcher
  if (kind === "service") launcher.serves(Number(stopMs))
  yield* Effect.addFinalizer(() => Effect.andThen(Console.log("closing"), Effect.never))
  yield* Console.log("up")
  return yield* Effect.never
})))
