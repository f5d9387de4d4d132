/** What all programs have that the gateway starts: few variables, a group of their own, and an end. */
import type { ChildProcess } from "node:child_process"
import * as Effect from "effect/Effect"

type Environment = Readonly<Record<string, string | undefined>>

/** Variables that programs need to find themselves; no other one of the gateway is passed on. */
export const inherited = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "USER", "SHELL"] as const

/** Those variables of the gateway that are named, and the program's own. */
export const environmentOf = (gateway: Environment, own: Readonly<Record<string, string>>, names: ReadonlyArray<string> = inherited): Record<string, string> => {
  const passed: Record<string, string> = {}
  for (const name of names) {
    const value = gateway[name]
    if (value !== undefined) passed[name] = value
  }
  return { ...passed, ...own }
}

/** A process that is gone cannot be told anything. */
export const tell = (child: ChildProcess, signal: NodeJS.Signals): void => {
  try {
    // A group of its own: what it started ends with it.
    if (child.pid !== undefined) process.kill(-child.pid, signal)
  } catch {
    child.kill(signal)
  }
}

/** Tells it to end, and ends it after the grace; `gone` ends with the process. Nothing of its group is left. */
export const end = (child: ChildProcess, gone: Effect.Effect<void>, graceMs: number): Effect.Effect<void> => Effect.gen(function*() {
  tell(child, "SIGTERM")
  if ((yield* Effect.timeoutOption(gone, graceMs))._tag === "None") {
    tell(child, "SIGKILL")
    yield* Effect.timeoutOption(gone, graceMs)
  }
  // What it started may have outlived it.
  tell(child, "SIGKILL")
})
