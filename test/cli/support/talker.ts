/** A command that prints more than a pipe holds, for the launcher's tests: argument `fails` makes it fail then. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { failure } from "#src/cli/Failure.ts"
import { run } from "#src/cli/Launcher.ts"

const [end, bytes = "0"] = process.argv.slice(2)

run(Effect.andThen(Console.log("x".repeat(Number(bytes))), end === "fails" ? Effect.fail(failure("it failed")) : Effect.void))
