/**
 * Reads a plugin's folder, which must lie below the one that the operator allows. What an opened file really is decides, so that neither
 * links nor names that change meanwhile lead out of it.
 */
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { CODE_MAX } from "./bounds.ts"

export const MANIFEST = "plugin.json"
/** Bytes. */
const MANIFEST_MAX = 256 * 1_024

/** For its operator, who named the path. */
export class Unreadable extends Schema.TaggedError<Unreadable>()("Unreadable", { message: Schema.String }) {}

const isBelow = (root: string, file: string): boolean => file.startsWith(root.endsWith(path.sep) ? root : root + path.sep)
const outside = new Unreadable({ message: "The path does not lie below GATEWAY_PLUGINS_DIR" })

/** `root`, `file`: absolute; the root without links. */
const read = async (root: string, file: string, what: string, most: number): Promise<string> => {
  // A pipe must not hold the gateway; whether it is a file is asked below.
  const handle = await fs.open(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK).catch((cause: NodeJS.ErrnoException) => {
    throw new Unreadable({ message: `${what} cannot be read (${cause.code ?? "error"})` })
  })
  try {
    const real = await fs.readlink(`/proc/self/fd/${handle.fd}`).catch(() => fs.realpath(file))
    if (!isBelow(root, real)) throw new Unreadable({ message: `${what} lies outside of the folder` })
    const { size, nlink } = await handle.stat().then((stats) => {
      if (!stats.isFile()) throw new Unreadable({ message: `${what} is no file` })
      return stats
    })
    // Another name of the same file may lie anywhere.
    if (nlink > 1) throw new Unreadable({ message: `${what} has more than one name (hard links)` })
    if (size > most) throw new Unreadable({ message: `${what} has more than ${most} bytes` })
    const bytes = Buffer.alloc(most + 1)
    let length = 0
    for (;;) {
      const { bytesRead } = await handle.read(bytes, length, bytes.length - length)
      length += bytesRead
      if (bytesRead === 0 || length === bytes.length) break
    }
    if (length > most) throw new Unreadable({ message: `${what} has more than ${most} bytes` })
    return bytes.toString("utf8", 0, length)
  } finally {
    await handle.close()
  }
}

const attempt = <A>(work: () => Promise<A>): Effect.Effect<A, Unreadable> => Effect.tryPromise({
  try: work, catch: (cause) => cause instanceof Unreadable ? cause : new Unreadable({ message: "The path cannot be read" })
})

/** Its manifest's text, and what reads its main file. `folder`: absolute, or below `allowed`. */
export const open = (allowed: string, folder: string) => attempt(async () => {
  const root = await fs.realpath(allowed).catch(() => {
    throw new Unreadable({ message: "GATEWAY_PLUGINS_DIR cannot be read" })
  })
  const place = await fs.realpath(path.resolve(root, folder)).catch((cause: NodeJS.ErrnoException) => {
    throw new Unreadable({ message: isBelow(root, path.resolve(root, folder)) ? `The path cannot be read (${cause.code ?? "error"})` : outside.message })
  })
  if (!isBelow(root, place)) throw outside
  return {
    manifest: await read(place, path.join(place, MANIFEST), MANIFEST, MANIFEST_MAX),
    main: (file: string) => attempt(() => read(place, path.join(place, file), file, CODE_MAX))
  }
})
