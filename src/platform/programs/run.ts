/** Runs a program of this machine to its end, within bounds. */
import { spawn } from "node:child_process"
import * as Effect from "effect/Effect"
import { tell } from "./process.ts"

export interface Command {
  readonly file: string
  readonly args: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
}

export interface Bounds {
  /** It is ended then, with what it started, ms. */
  readonly withinMs: number
  /** Characters of each of its outputs that are read. */
  readonly outputMax: number
}

export interface Ran {
  readonly stdout: string
  readonly stderr: string
  /** Why it did not end well; null when it ended with 0. */
  readonly problem: string | null
}

export const run = ({ args, env, file }: Command, { outputMax, withinMs }: Bounds): Effect.Effect<Ran> => Effect.callback<Ran>((resume) => {
  const child = spawn(file, [...args], { cwd: "/", shell: false, detached: true, stdio: ["ignore", "pipe", "pipe"], env })
  const said = { stdout: "", stderr: "" }
  const hear = (name: "stdout" | "stderr") => child[name].setEncoding("utf8").on("data", (text: string) => {
    if (said[name].length < outputMax) said[name] += text.slice(0, outputMax - said[name].length)
  })
  hear("stdout")
  hear("stderr")
  child.once("error", (error: NodeJS.ErrnoException) => resume(Effect.succeed({ ...said, problem: `it cannot be started (${error.code ?? "error"})` })))
  child.once("close", (code, signal) => resume(Effect.succeed({
    ...said, problem: code === 0 ? null : `${args.join(" ")} ended with ${signal ?? `exit code ${code}`}`
  })))
  return Effect.sync(() => tell(child, "SIGKILL"))
}).pipe(Effect.timeoutOrElse({
  duration: withinMs,
  orElse: () => Effect.succeed({ stdout: "", stderr: "", problem: `${args.join(" ")} did not answer within ${withinMs / 1_000} s` })
}))
