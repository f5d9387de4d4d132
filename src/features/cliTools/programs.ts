/** Programs of the gateway's user: looked up in PATH, and asked for their version without a shell. */
import { spawn } from "node:child_process"
import * as fs from "node:fs/promises"
import { constants } from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import type { Machine } from "./Machine.ts"

/** A program that has not answered by then is not waited for, ms. */
export const PROBE_MS = 5_000
/** Characters of an answer that are read. */
const ANSWER_MAX = 4_096

export interface Found {
  readonly file: string
  /** Of the program's file, ms. */
  readonly changedAt: number
}

export interface Probe {
  readonly version: string | null
  /** Why it does not run; null when it does. */
  readonly reason: string | null
}

/** Entries that are no absolute path would depend on the gateway's working directory. */
export const find = ({ path: list }: Machine, command: string): Effect.Effect<Found | null> => Effect.promise(async () => {
  for (const directory of list.split(path.delimiter).filter((one) => path.isAbsolute(one))) {
    const file = path.join(directory, command)
    try {
      await fs.access(file, constants.X_OK)
      const stat = await fs.stat(file)
      if (stat.isFile()) return { file, changedAt: stat.mtimeMs }
    } catch {
      // Not in this directory.
    }
  }
  return null
})

const versionIn = (answer: string): string | null => /\d+(?:\.\d+)+(?:[-+][0-9A-Za-z.-]+)?/.exec(answer)?.[0] ?? null

/** Runs the program with plain arguments; it gets no variable of the gateway but those that find programs and files. */
export const probe = (machine: Machine, { file }: Found, args: ReadonlyArray<string>): Effect.Effect<Probe> =>
  Effect.callback<Probe>((resume) => {
    const child = spawn(file, [...args], {
      cwd: "/", shell: false, detached: true, stdio: ["ignore", "pipe", "ignore"],
      env: { PATH: machine.path, HOME: machine.home, LANG: process.env["LANG"], TMPDIR: process.env["TMPDIR"], NO_COLOR: "1" }
    })
    let answer = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      if (answer.length < ANSWER_MAX) answer += text.slice(0, ANSWER_MAX - answer.length)
    })
    child.once("error", (error: NodeJS.ErrnoException) => resume(Effect.succeed({ version: null, reason: `it cannot be started (${error.code ?? "error"})` })))
    child.once("close", (code, signal) => resume(Effect.succeed({
      version: versionIn(answer), reason: code === 0 ? null : `${args.join(" ")} ended with ${signal ?? `exit code ${code}`}`
    })))
    return Effect.sync(() => {
      try {
        // A group of its own: what it started ends with it.
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL")
      } catch {
        child.kill("SIGKILL")
      }
    })
  }).pipe(Effect.timeoutOrElse({
    duration: PROBE_MS,
    orElse: () => Effect.succeed({ version: null, reason: `${args.join(" ")} did not answer within ${PROBE_MS / 1_000} s` })
  }))
