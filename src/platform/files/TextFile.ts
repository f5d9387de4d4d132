/**
 * Text files of other programs and of the operator: read whole, and replaced at once. What is written is never seen half: it stands in a
 * file of its own first, which then takes the old one's name, mode and owner.
 */
import type { Stats } from "node:fs"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { codeOf } from "#actors/thrown.ts"

export class TextFileError extends Schema.TaggedError<TextFileError>()("TextFileError", {
  reason: Schema.Literals(["unreadable", "not_writable", "changed", "no_backup"]),
  /** Names the file; holds nothing of what is in it. */
  message: Schema.String
}) {}

/** Bytes of a file. */
const FILE_MAX = 1_048_576
export const NEW_MODE = 0o600

export interface TextFile {
  readonly path: string
  /** Null: there is none. */
  readonly text: string | null
  readonly mode: number
  readonly changedAt: number
}

const isMissing = (error: unknown): boolean => codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR"
/** Null for what does not exist. */
export const missing = (error: unknown): null => {
  if (isMissing(error)) return null
  throw error
}

/** The id of a backup from its time, in the form `20260102T030405678Z`. */
export const idAt = (ms: number): string => new Date(ms).toISOString().replaceAll(/[-:.]/g, "")

export const attempt = <A>(file: string, reason: TextFileError["reason"], body: () => Promise<A>): Effect.Effect<A, TextFileError> => Effect.tryPromise({
  try: body,
  catch: (error) => error instanceof TextFileError
    ? error
    : new TextFileError({ reason, message: `${file} cannot be ${reason === "unreadable" ? "read" : "written"} by the gateway's user (${codeOf(error) || "error"})` })
})

const unreadable = (file: string, why: string) => new TextFileError({ reason: "unreadable", message: `${file} cannot be read: ${why}` })

export const read = async (file: string): Promise<TextFile> => {
  const stat = await fs.stat(file).catch(missing)
  if (stat === null) {
    if (await fs.lstat(file).catch(missing) !== null) throw unreadable(file, "it is a link to a file that does not exist")
    return { path: file, text: null, mode: NEW_MODE, changedAt: 0 }
  }
  if (!stat.isFile()) throw unreadable(file, "it is no file")
  if (stat.size > FILE_MAX) throw unreadable(file, `it is larger than ${FILE_MAX} bytes`)
  const bytes = await fs.readFile(file)
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
    return { path: file, text, mode: stat.mode & 0o7777, changedAt: stat.mtimeMs }
  } catch {
    throw unreadable(file, "it is not UTF-8")
  }
}

/** Writes a file beside the one that it replaces, then renames it. `seen`: what the old one said when the change was made. */
export const replace = async (file: string, text: string, mode: number, seen: string | null): Promise<void> => {
  // A link stays a link: what it names is replaced.
  const target = await fs.realpath(file).catch(missing) ?? file
  const old: Stats | null = await fs.stat(target).catch(missing)
  const beside = path.join(path.dirname(target), `.${path.basename(target)}.gateway-${process.pid}`)
  await fs.rm(beside, { force: true })
  const handle = await fs.open(beside, "wx", NEW_MODE)
  try {
    try {
      await handle.writeFile(text)
      if (old !== null && (old.uid !== process.getuid?.() || old.gid !== process.getgid?.())) await handle.chown(old.uid, old.gid)
      await handle.chmod(mode)
      await handle.sync()
    } finally {
      await handle.close()
    }
    if ((await read(target)).text !== seen) throw new TextFileError({ reason: "changed", message: `${file} was changed by another program meanwhile; nothing was written to it: ask again` })
    await fs.rename(beside, target)
  } catch (error) {
    await fs.rm(beside, { force: true })
    throw error
  }
}
