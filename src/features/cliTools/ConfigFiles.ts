/** The configuration files of one tool on this machine: read whole, backed up beside themselves, and replaced at once. */
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as TextFile from "#src/platform/files/TextFile.ts"
import type { Machine } from "./Machine.ts"
import * as Mounts from "./mounts.ts"
import type { Tool } from "./tools.ts"

/** Backups of one tool; the oldest go first. */
export const BACKUPS_MAX = 20
const NEW_DIRECTORY_MODE = 0o700
const BACKUPS = ".gateway-backups"
/** What was applied last, beside the backups. */
const APPLIED = "applied.json"
const backupId = /^\d{8}T\d{9}Z$/

export interface ConfigFile extends TextFile.TextFile {
  readonly name: string
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

const timeOf = (id: string): string => id.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z$/, "$1-$2-$3T$4:$5:$6.$7Z")

const directoryOf = ({ home }: Machine, { directory }: Tool): string => path.join(home, ...directory)

const { attempt } = TextFile

const readOne = async (file: string, name: string): Promise<ConfigFile> => ({ name, ...await TextFile.read(file) })

const makeDirectory = (directory: string) => fs.mkdir(directory, { recursive: true, mode: NEW_DIRECTORY_MODE })

export const read = (machine: Machine, tool: Tool): Effect.Effect<ReadonlyArray<ConfigFile>, TextFile.TextFileError> => {
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
  (await fs.readdir(path.join(directoryOf(machine, tool), BACKUPS)).catch(TextFile.missing) ?? []).filter((name) => backupId.test(name)).sort()

/** Copies the files as they are; answers the backup's id. `now`: ms since the epoch. */
export const backUp = (machine: Machine, tool: Tool, files: ReadonlyArray<ConfigFile>, now: number): Effect.Effect<string, TextFile.TextFileError> => {
  const all = path.join(directoryOf(machine, tool), BACKUPS)
  return attempt(all, "not_writable", async () => {
    await makeDirectory(all)
    const known = await backupsOf(machine, tool)
    let ms = now
    while (known.includes(TextFile.idAt(ms))) ms++
    const id = TextFile.idAt(ms)
    const part = path.join(all, `${id}.part-${process.pid}`)
    await fs.rm(part, { recursive: true, force: true })
    await makeDirectory(part)
    for (const { mode, name, text } of files) {
      if (text === null) continue
      const handle = await fs.open(path.join(part, name), "wx", TextFile.NEW_MODE)
      await handle.writeFile(text).then(() => handle.chmod(mode)).then(() => handle.sync()).finally(() => handle.close())
    }
    await fs.rename(part, path.join(all, id))
    for (const old of known.slice(0, Math.max(0, known.length + 1 - BACKUPS_MAX))) await fs.rm(path.join(all, old), { recursive: true, force: true })
    return id
  })
}

/** Newest first. */
export const backups = (machine: Machine, tool: Tool): Effect.Effect<ReadonlyArray<Backup>, TextFile.TextFileError> => {
  const all = path.join(directoryOf(machine, tool), BACKUPS)
  return attempt(all, "unreadable", async () => Promise.all([...await backupsOf(machine, tool)].reverse().map(async (id) => ({
    id, tool: tool.id, createdAt: timeOf(id), file: path.join(all, id),
    files: (await fs.readdir(path.join(all, id))).filter((name) => tool.files.some((file) => file.name === name)).sort()
  }))))
}

/** The files as a backup holds them. */
export const inBackup = (machine: Machine, tool: Tool, id: string): Effect.Effect<ReadonlyArray<ConfigFile>, TextFile.TextFileError> => {
  const directory = path.join(directoryOf(machine, tool), BACKUPS, id)
  return attempt(directory, "unreadable", async () => {
    if (!backupId.test(id) || await fs.stat(directory).catch(TextFile.missing) === null) throw new TextFile.TextFileError({ reason: "no_backup", message: `${tool.name} has no backup ${id.slice(0, 40)}: see GET /api/cli-tools/backups` })
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
export const write = (machine: Machine, tool: Tool, writings: ReadonlyArray<Writing>): Effect.Effect<void, TextFile.TextFileError> => {
  const directory = directoryOf(machine, tool)
  const put = async ({ file, mode, text }: Writing): Promise<void> => {
    if (text !== null) return TextFile.replace(file.path, text, mode, file.text)
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

export const noteApplied = (machine: Machine, tool: Tool, fact: Applied): Effect.Effect<void, TextFile.TextFileError> => {
  const file = path.join(directoryOf(machine, tool), BACKUPS, APPLIED)
  return attempt(file, "not_writable", async () => {
    const { text } = await readOne(file, APPLIED)
    await TextFile.replace(file, `${JSON.stringify(fact)}\n`, TextFile.NEW_MODE, text)
  })
}
