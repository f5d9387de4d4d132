/**
 * The configuration files of one tool on this machine: read whole, backed up beside themselves, and replaced at once. What is written
 * is never seen half: it stands in a file of its own first, which then takes the old one's name, mode and owner.
 */
import * as fs from "node:fs/promises"
import type { Stats } from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import type { Machine } from "./Machine.ts"
import * as Mounts from "./mounts.ts"
import type { Tool } from "./tools.ts"

export type Reason = "unreadable" | "not_writable" | "changed" | "no_backup"

export class ConfigFileError {
  readonly _tag = "ConfigFileError"
  readonly reason: Reason
  /** Names the file; holds nothing of what is in it. */
  readonly message: string
  constructor(reason: Reason, message: string) {
    this.reason = reason
    this.message = message
  }
}

/** Bytes of a configuration file. */
const FILE_MAX = 1_048_576
/** Backups of one tool; the oldest go first. */
export const BACKUPS_MAX = 20
const NEW_FILE_MODE = 0o600
const NEW_DIRECTORY_MODE = 0o700
const BACKUPS = ".gateway-backups"
/** What was applied last, beside the backups. */
const APPLIED = "applied.json"
const backupId = /^\d{8}T\d{9}Z$/

export interface ConfigFile {
  readonly name: string
  readonly path: string
  /** Null: there is none. */
  readonly text: string | null
  readonly mode: number
  readonly changedAt: number
}

export interface Backup {
  readonly id: string
  readonly tool: string
  /** ISO 8601. */
  readonly createdAt: string
  /** Its directory. */
  readonly file: string
  /** The names of the files that it holds. */
  readonly files: ReadonlyArray<string>
}

const codeOf = (error: unknown): string => error instanceof Error && "code" in error ? String(error.code) : "error"
const isMissing = (error: unknown): boolean => codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR"
const missing = (error: unknown): null => {
  if (isMissing(error)) return null
  throw error
}

/** An id from a time, in the form `20260102T030405678Z`. */
const idAt = (ms: number): string => new Date(ms).toISOString().replaceAll(/[-:.]/g, "")
const timeOf = (id: string): string => id.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z$/, "$1-$2-$3T$4:$5:$6.$7Z")

const directoryOf = ({ home }: Machine, { directory }: Tool): string => path.join(home, ...directory)

const attempt = <A>(file: string, reason: Reason, body: () => Promise<A>): Effect.Effect<A, ConfigFileError> => Effect.tryPromise({
  try: body,
  catch: (error) => error instanceof ConfigFileError
    ? error
    : new ConfigFileError(reason, `${file} cannot be ${reason === "unreadable" ? "read" : "written"} by the gateway's user (${codeOf(error)})`)
})

const unreadable = (file: string, why: string) => new ConfigFileError("unreadable", `${file} cannot be read: ${why}`)

const readOne = async (file: string, name: string): Promise<ConfigFile> => {
  const stat = await fs.stat(file).catch(missing)
  if (stat === null) {
    if (await fs.lstat(file).catch(missing) !== null) throw unreadable(file, "it is a link to a file that does not exist")
    return { name, path: file, text: null, mode: NEW_FILE_MODE, changedAt: 0 }
  }
  if (!stat.isFile()) throw unreadable(file, "it is no file")
  if (stat.size > FILE_MAX) throw unreadable(file, `it is larger than ${FILE_MAX} bytes`)
  const bytes = await fs.readFile(file)
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
    return { name, path: file, text, mode: stat.mode & 0o7777, changedAt: stat.mtimeMs }
  } catch {
    throw unreadable(file, "it is not UTF-8")
  }
}

/** Writes a file beside the one that it replaces, then renames it. `seen`: what the old one said when the change was made. */
const replace = async (file: string, text: string, mode: number, seen: string | null): Promise<void> => {
  // A link stays a link: what it names is replaced.
  const target = await fs.realpath(file).catch(missing) ?? file
  const old: Stats | null = await fs.stat(target).catch(missing)
  const beside = path.join(path.dirname(target), `.${path.basename(target)}.gateway-${process.pid}`)
  await fs.rm(beside, { force: true })
  const handle = await fs.open(beside, "wx", NEW_FILE_MODE)
  try {
    try {
      await handle.writeFile(text)
      if (old !== null && (old.uid !== process.getuid?.() || old.gid !== process.getgid?.())) await handle.chown(old.uid, old.gid)
      await handle.chmod(mode)
      await handle.sync()
    } finally {
      await handle.close()
    }
    if ((await readOne(target, "")).text !== seen) throw new ConfigFileError("changed", `${file} was changed by another program meanwhile; nothing was written to it: ask again`)
    await fs.rename(beside, target)
  } catch (error) {
    await fs.rm(beside, { force: true })
    throw error
  }
}

const makeDirectory = (directory: string) => fs.mkdir(directory, { recursive: true, mode: NEW_DIRECTORY_MODE })

export const read = (machine: Machine, tool: Tool): Effect.Effect<ReadonlyArray<ConfigFile>, ConfigFileError> => {
  const directory = directoryOf(machine, tool)
  return attempt(directory, "unreadable", () => Promise.all(tool.files.map(({ name }) => readOne(path.join(directory, name), name))))
}

/** Modification times of all files of a tool, as one text; equal while nothing changed. */
export const stamp = (machine: Machine, tool: Tool): Effect.Effect<string> => Effect.promise(async () => {
  const times = tool.files.map(async ({ name }) => (await fs.stat(path.join(directoryOf(machine, tool), name)).catch(() => null))?.mtimeMs ?? 0)
  return (await Promise.all(times)).join(",")
})

/** A file in the home that the tool would stop reading; null when there is none. */
export const hidden = (machine: Machine, { hides }: Tool, files: ReadonlyArray<ConfigFile>): Effect.Effect<string | null> => Effect.promise(async () => {
  if (hides === undefined || files.some(({ name, text }) => name === hides.file && text !== null)) return null
  const other = path.join(machine.home, hides.other)
  return await fs.stat(other).catch(() => null) === null ? null : other
})

/** Whether what is written here ends with the container; always false outside of one. */
export const isEphemeral = (machine: Machine, tool: Tool): Effect.Effect<boolean> => Effect.promise(async () => {
  const mounts = machine.mounts()
  if (mounts === null) return false
  let directory = directoryOf(machine, tool)
  for (;;) {
    const real = await fs.realpath(directory).catch(() => null)
    if (real !== null) return !Mounts.isHosts(mounts, real)
    directory = path.dirname(directory)
  }
})

const backupsOf = async (machine: Machine, tool: Tool): Promise<ReadonlyArray<string>> =>
  (await fs.readdir(path.join(directoryOf(machine, tool), BACKUPS)).catch(missing) ?? []).filter((name) => backupId.test(name)).sort()

/** Copies the files as they are; answers the backup's id. `now`: ms since the epoch. */
export const backUp = (machine: Machine, tool: Tool, files: ReadonlyArray<ConfigFile>, now: number): Effect.Effect<string, ConfigFileError> => {
  const all = path.join(directoryOf(machine, tool), BACKUPS)
  return attempt(all, "not_writable", async () => {
    await makeDirectory(all)
    const known = await backupsOf(machine, tool)
    let ms = now
    while (known.includes(idAt(ms))) ms++
    const id = idAt(ms)
    const part = path.join(all, `${id}.part-${process.pid}`)
    await fs.rm(part, { recursive: true, force: true })
    await makeDirectory(part)
    for (const { mode, name, text } of files) {
      if (text === null) continue
      const handle = await fs.open(path.join(part, name), "wx", NEW_FILE_MODE)
      await handle.writeFile(text).then(() => handle.chmod(mode)).then(() => handle.sync()).finally(() => handle.close())
    }
    await fs.rename(part, path.join(all, id))
    for (const old of known.slice(0, Math.max(0, known.length + 1 - BACKUPS_MAX))) await fs.rm(path.join(all, old), { recursive: true, force: true })
    return id
  })
}

/** Newest first. */
export const backups = (machine: Machine, tool: Tool): Effect.Effect<ReadonlyArray<Backup>, ConfigFileError> => {
  const all = path.join(directoryOf(machine, tool), BACKUPS)
  return attempt(all, "unreadable", async () => Promise.all([...await backupsOf(machine, tool)].reverse().map(async (id) => ({
    id, tool: tool.id, createdAt: timeOf(id), file: path.join(all, id),
    files: (await fs.readdir(path.join(all, id))).filter((name) => tool.files.some((file) => file.name === name)).sort()
  }))))
}

/** The files as a backup holds them. */
export const inBackup = (machine: Machine, tool: Tool, id: string): Effect.Effect<ReadonlyArray<ConfigFile>, ConfigFileError> => {
  const directory = path.join(directoryOf(machine, tool), BACKUPS, id)
  return attempt(directory, "unreadable", async () => {
    if (!backupId.test(id) || await fs.stat(directory).catch(missing) === null) throw new ConfigFileError("no_backup", `${tool.name} has no backup ${id.slice(0, 40)}: see GET /api/cli-tools/backups`)
    return Promise.all(tool.files.map(({ name }) => readOne(path.join(directory, name), name)))
  })
}

export interface Writing {
  readonly file: ConfigFile
  /** Null removes it. */
  readonly text: string | null
  readonly mode: number
}

/** All files or none: when one cannot be written, those before it are put back. */
export const write = (machine: Machine, tool: Tool, writings: ReadonlyArray<Writing>): Effect.Effect<void, ConfigFileError> => {
  const directory = directoryOf(machine, tool)
  const put = async ({ file, mode, text }: Writing): Promise<void> => {
    if (text !== null) return replace(file.path, text, mode, file.text)
    if (file.text !== null) await fs.rm(await fs.realpath(file.path))
  }
  return attempt(directory, "not_writable", async () => {
    await makeDirectory(directory)
    const done: Array<Writing> = []
    try {
      for (const writing of writings) {
        await put(writing)
        done.push(writing)
      }
    } catch (error) {
      for (const { file, text } of done.reverse()) await put({ file: { ...file, text }, text: file.text, mode: file.mode })
      throw error
    }
  })
}

export interface Applied {
  readonly endpoint: string
  /** ISO 8601. */
  readonly at: string
}

/** What this gateway, or another one of the same user, applied last; null when that is not known. */
export const applied = (machine: Machine, tool: Tool): Effect.Effect<Applied | null> => Effect.promise(async () => {
  try {
    const { at, endpoint } = JSON.parse(await fs.readFile(path.join(directoryOf(machine, tool), BACKUPS, APPLIED), "utf8")) as Partial<Applied>
    return typeof at === "string" && typeof endpoint === "string" ? { at, endpoint } : null
  } catch {
    return null
  }
})

export const noteApplied = (machine: Machine, tool: Tool, fact: Applied): Effect.Effect<void, ConfigFileError> => {
  const file = path.join(directoryOf(machine, tool), BACKUPS, APPLIED)
  return attempt(file, "not_writable", async () => {
    const { text } = await readOne(file, APPLIED)
    await replace(file, `${JSON.stringify(fact)}\n`, NEW_FILE_MODE, text)
  })
}
