/** SIGHUP reads the configuration file again; a file that cannot be applied changes nothing, and is told in the log. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Supervisor from "#actors/Supervisor.ts"
import * as Applier from "./Applier.ts"
import { ConfigFile } from "./ports/ConfigFile.ts"
import { Appliers } from "./ReadConfigFile.ts"

/** Without a file the signal does what it does to any process: it ends it. */
export const layer = Layer.effectDiscard(Effect.gen(function*() {
  yield* Deferred.succeed(yield* Appliers, yield* Applier.make)
  const { apply, path } = yield* ConfigFile
  if (path === null) return
  // Of several signals while the file is being applied one more reading is enough.
  const hangups = yield* Queue.sliding<NodeJS.Signals>(1)
  const heard = (signal: NodeJS.Signals): void => void Queue.offerUnsafe(hangups, signal)
  yield* Effect.acquireRelease(Effect.sync(() => process.on("SIGHUP", heard)), () => Effect.sync(() => process.off("SIGHUP", heard)))
  yield* Supervisor.loop("configuration file", Effect.andThen(Queue.take(hangups), Effect.catchTag(Effect.asVoid(apply), "ConfigFileError", ({ message }) => Effect.logError(message))))
}))
