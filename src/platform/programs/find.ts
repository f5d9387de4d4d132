/** Programs of this machine, looked up without a shell. */
import * as fs from "node:fs/promises"
import { constants } from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"

export interface Found {
  readonly file: string
  /** Of the program's file, ms. */
  readonly changedAt: number
}

/** The file, when it can be run. */
export const at = (file: string): Effect.Effect<Found | null> => Effect.promise(async () => {
  try {
    await fs.access(file, constants.X_OK)
    const stat = await fs.stat(file)
    return stat.isFile() ? { file, changedAt: stat.mtimeMs } : null
  } catch {
    return null
  }
})

/** `list`: as PATH. Entries that are no absolute path would depend on the gateway's working directory. */
export const inPath = (list: string, command: string): Effect.Effect<Found | null> => Effect.gen(function*() {
  for (const directory of list.split(path.delimiter).filter((one) => path.isAbsolute(one))) {
    const found = yield* at(path.join(directory, command))
    if (found !== null) return found
  }
  return null
})
