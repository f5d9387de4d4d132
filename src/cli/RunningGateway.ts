/** The gateway that runs on a data directory: `serve` leaves a note there, the other commands find it. */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import { isAlive, startTicks } from "#src/platform/structures/processes.ts"

export interface RunningGateway {
  readonly pid: number
  /** Where it listens; null when only its database lock was found. */
  readonly url: string | null
}

const noteIn = (dataDir: string): string => path.join(dataDir, "gateway.run.json")
const lockIn = (dataDir: string): string => path.join(dataDir, "pglite.lock")

const parse = (file: string): { readonly pid: number; readonly started: string; readonly url: string | null } | null => {
  try {
    const value: unknown = JSON.parse(fs.readFileSync(file, "utf8"))
    if (typeof value !== "object" || value === null) return null
    const { pid, started, url } = value as Record<string, unknown>
    return typeof pid === "number" && typeof started === "string" ? { pid, started, url: typeof url === "string" ? url : null } : null
  } catch {
    return null
  }
}

/** The living process that wrote a note or a lock. */
const living = (file: string): RunningGateway | null => {
  const note = parse(file)
  return note !== null && isAlive(note.pid) && startTicks(note.pid) === note.started ? { pid: note.pid, url: note.url } : null
}

/** Null when no gateway of this machine runs on the directory. */
export const find = (dataDir: string): RunningGateway | null => living(noteIn(dataDir)) ?? living(lockIn(dataDir))

/** Leaves the note for as long as the scope lives; a directory that takes none costs only the convenience. */
export const announce = (dataDir: string, url: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const text = JSON.stringify({ pid: process.pid, started: startTicks(process.pid), url })
      const file = noteIn(dataDir)
      try {
        const fresh = `${file}.${process.pid}`
        fs.writeFileSync(fresh, text, { mode: 0o600 })
        fs.renameSync(fresh, file)
      } catch {
        return null
      }
      return text
    }),
    (text) => Effect.sync(() => {
      try {
        if (text !== null && fs.readFileSync(noteIn(dataDir), "utf8") === text) fs.rmSync(noteIn(dataDir))
      } catch {
        // Another start has replaced it.
      }
    })
  )
