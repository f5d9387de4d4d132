/**
 * The backups of this node: files in its data directory, for its user alone. A name says when and why its backup was made. What is being
 * written has another name until it is whole and on the disk.
 */
import { randomBytes } from "node:crypto"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Directories from "#src/platform/structures/directories.ts"
import { isAlive } from "#src/platform/structures/processes.ts"
import { type ArchiveError, ofThrown } from "./archive/ArchiveError.ts"

export const Reason = Schema.Literals(["manual", "scheduled", "pre-restore", "pre-import"])
export type Reason = typeof Reason.Type

export interface Backup {
  readonly id: string
  readonly filename: string
  /** Bytes. */
  readonly size: number
  /** ms since the epoch. */
  readonly at: number
  readonly reason: Reason
}

/** `<UTC time in ms>-<reason>-<random>`. */
const named = /^gateway-backup-((\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z-(manual|scheduled|pre-restore|pre-import)-[0-9a-f]{8})\.gwb$/

export const stampOf = (at: number): string => new Date(at).toISOString().replace(/[-:.]/g, "")

/** What a name says; null for a file that is no backup. */
export const parse = (filename: string): Omit<Backup, "size"> | null => {
  const [, id, year, month, day, hour, minute, second, ms, reason] = named.exec(filename) ?? []
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`)
  return id === undefined || Number.isNaN(at) ? null : { id, filename, at, reason: reason as Reason }
}

export const filenameOf = (at: number, reason: Reason): string => `gateway-backup-${stampOf(at)}-${reason}-${randomBytes(4).toString("hex")}.gwb`

const unfinished = /^part-(\d+)-[0-9a-f]{16}$/

const isAbsent = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT"

export interface BackupDirectory {
  readonly path: string
  /** Newest first. */
  readonly list: Effect.Effect<ReadonlyArray<Backup>, ArchiveError>
  readonly pathOf: (backup: Pick<Backup, "filename">) => string
  /** A place for a file that is being written; the directory is made. */
  readonly place: Effect.Effect<string, ArchiveError>
  /** Gives a whole file the name of a backup. */
  readonly keep: (written: string, at: number, reason: Reason) => Effect.Effect<Backup, ArchiveError>
  readonly remove: (backup: Pick<Backup, "filename">) => Effect.Effect<void, ArchiveError>
  /** Removes what processes that have ended were writing. */
  readonly sweep: Effect.Effect<void, ArchiveError>
}

export const make = (dataDir: string): BackupDirectory => {
  const directory = path.resolve(dataDir, "backups")
  const attempt = <A>(run: () => Promise<A>): Effect.Effect<A, ArchiveError> => Effect.tryPromise({ try: run, catch: ofThrown(`The backups in ${directory} cannot be used`) })
  const names = async (): Promise<ReadonlyArray<string>> => {
    try {
      return await fs.readdir(directory)
    } catch (error) {
      if (isAbsent(error)) return []
      throw error
    }
  }
  const flush = async () => {
    const handle = await fs.open(directory, "r")
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  }
  const pathOf = ({ filename }: Pick<Backup, "filename">): string => path.join(directory, filename)

  return {
    path: directory,
    pathOf,
    list: attempt(async () => {
      const found = new Array<Backup>()
      for (const name of await names()) {
        const backup = parse(name)
        if (backup === null) continue
        try {
          found.push({ ...backup, size: (await fs.stat(path.join(directory, name))).size })
        } catch (error) {
          if (!isAbsent(error)) throw error
        }
      }
      return found.sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1))
    }),
    place: attempt(async () => {
      Directories.makeInData(directory)
      return path.join(directory, `part-${process.pid}-${randomBytes(8).toString("hex")}`)
    }),
    keep: (written, at, reason) => attempt(async () => {
      const filename = filenameOf(at, reason)
      await fs.rename(written, path.join(directory, filename))
      await flush()
      const { size } = await fs.stat(path.join(directory, filename))
      return { ...parse(filename)!, size }
    }),
    remove: (backup) => attempt(() => fs.rm(pathOf(backup), { force: true })),
    sweep: attempt(async () => {
      for (const name of await names()) {
        const pid = Number(unfinished.exec(name)?.[1])
        // A process id comes again, as in a container.
        if (Number.isInteger(pid) && (pid === process.pid || !isAlive(pid))) await fs.rm(path.join(directory, name), { force: true })
      }
    })
  }
}
