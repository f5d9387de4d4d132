/** `gateway bench ...`: the benchmark with this very Node; its options are passed on unread. */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import { exitCodes, Failure } from "#src/cli/Failure.ts"

const entry = fileURLToPath(new URL("../../../bench/main.ts", import.meta.url))

export const bench = (args: ReadonlyArray<string>) =>
  Effect.callback<void, Failure>((resume) => {
    const child = spawn(process.execPath, [...process.execArgv, entry, ...args], { stdio: "inherit" })
    child.once("error", (error) => resume(Effect.fail(new Failure({ message: error.message, exitCode: exitCodes.failed }))))
    child.once("exit", (code) =>
      resume(code === 0 ? Effect.void : Effect.fail(new Failure({ message: "", exitCode: code ?? exitCodes.interrupted }))))
    return Effect.callback<void>((done) => {
      if (child.exitCode !== null || child.signalCode !== null) return done(Effect.void)
      child.once("exit", () => done(Effect.void))
      child.kill("SIGTERM")
    })
  })
