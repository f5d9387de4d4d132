/** A program that runs on until its scope ends, and is heard line by line. */
import { type ChildProcess, spawn } from "node:child_process"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Find from "./find.ts"
import { end, tell } from "./process.ts"
import type { Command } from "./run.ts"

/** Characters of a line that are heard; the rest of it is not. */
const LINE_MAX = 16 * 1_024
/** A program that was told to end gets this long before it is ended, ms. */
const GRACE_MS = 3_000
const SETPRIV = "/usr/bin/setpriv"

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** It could not even be started. */
  readonly error: string | null
}

export interface Program {
  /** Once it is gone and all that it said was heard. */
  readonly ended: Effect.Effect<Ended>
}

/** Gives the lines of chunks on, one by one. */
export const lines = (heard: (line: string) => void) => {
  let held = ""
  return (text: string): void => {
    const parts = (held + text).split("\n")
    held = (parts.pop() ?? "").slice(0, LINE_MAX)
    for (const part of parts) heard(part.slice(0, LINE_MAX).replace(/\r$/, ""))
  }
}

/**
 * Starts it without a shell and with the given variables alone. On Linux setpriv(1) of util-linux, where it is there, ends it also
 * when the gateway is killed.
 */
export const start = ({ args, env, file }: Command, heard: (line: string) => void): Effect.Effect<Program, never, Scope.Scope> => Effect.gen(function*() {
  const ended = yield* Deferred.make<Ended>()
  const over = (how: Ended): void => {
    Deferred.doneUnsafe(ended, Effect.succeed(how))
  }
  const guarded = process.platform === "linux" && (yield* Find.at(SETPRIV)) !== null
  const [program, ...rest] = guarded ? [SETPRIV, "--pdeathsig", "KILL", "--", file, ...args] : [file, ...args]
  yield* Effect.acquireRelease(
    Effect.sync((): ChildProcess => {
      const child = spawn(program ?? file, rest, { cwd: "/", shell: false, detached: true, stdio: ["ignore", "pipe", "pipe"], env })
      child.stdout.setEncoding("utf8").on("data", lines(heard))
      child.stderr.setEncoding("utf8").on("data", lines(heard))
      child.once("error", (error: NodeJS.ErrnoException) => over({ code: null, signal: null, error: error.code ?? "error" }))
      // What it started may hold its outputs open.
      child.once("exit", () => tell(child, "SIGKILL"))
      child.once("close", (code, signal) => over({ code, signal, error: null }))
      return child
    }),
    (child) => end(child, Effect.asVoid(Deferred.await(ended)), GRACE_MS)
  )
  return { ended: Deferred.await(ended) }
})
