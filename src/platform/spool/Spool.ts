/**
 * Where uploads lie while they are needed: files in the data directory whose names are taken away as soon as they are made, so that
 * nothing stays behind when the process ends, however it ends.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Values } from "#src/platform/configuration/Settings.ts"
import { BlockPool } from "#src/platform/structures/BlockPool.ts"
import * as Directories from "#src/platform/structures/directories.ts"
import * as NamelessFile from "#src/platform/structures/namelessFile.ts"
import { HeldBytes } from "#src/platform/structures/HeldBytes.ts"
import { Backlog, type Disk, SpoolFile, type SpoolFailure } from "./SpoolFile.ts"

export class Spool extends Context.Service<Spool, {
  /** A new file; `held` counts the bytes that wait in memory to be written; with `digests` it knows the digest of what was appended. */
  readonly open: (held: HeldBytes, digests?: boolean) => SpoolFile
  /** What waits to be written: while it is full, no upload is read on. */
  readonly backlog: Pick<Backlog, "isFull" | "onRoom">
  /** Bytes on disk, their cap, and uploads refused by it. */
  readonly stored: Pick<HeldBytes, "bytes" | "most" | "refused">
  /** Uploads that the file system did not take. */
  readonly failed: () => number
  /** Files that are open. */
  readonly files: () => number
}>()("gateway/spool/Spool") {}

/** Bytes that are collected before they are written. */
const blockBytes = 64 * 1024
/** Bytes over all files that wait to be written, from which on uploads are not read on. */
const mostWaiting = 16 * 1024 * 1024
/** Blocks that are kept for later: 8 MB. */
const keptBlocks = 128

/** Removes files that a process left between their making and the loss of their names. */
const sweep = (directory: string): void => {
  for (const name of fs.readdirSync(directory)) {
    if (NamelessFile.isLeft(name)) fs.rmSync(path.join(directory, name), { force: true })
  }
}

export interface CountedDisk extends Disk {
  /** Files that are open. */
  readonly files: () => number
}

/** Bytes of its disk that uploads leave to the journal and the database; of a small disk a tenth. */
const reserveBytes = 256 * 1024 * 1024

/** Says how large the disk of a directory is, and how much of it is free. */
type Statfs = (directory: string, done: (error: NodeJS.ErrnoException | null, found: Pick<fs.StatsFs, "bavail" | "blocks" | "bsize">) => void) => void

/** How much of a disk uploads may still take: known when asked for last, and counted down by what was written since. */
class Room {
  readonly #directory: string
  readonly #statfs: Statfs
  #left = 0

  constructor(directory: string, statfs: Statfs) {
    this.#directory = directory
    this.#statfs = statfs
  }

  wrote(bytes: number): void {
    this.#left -= bytes
  }

  look(done: () => void): void {
    this.#statfs(this.#directory, (error, found) => {
      // What cannot be asked is found out by writing.
      this.#left = error === null ? found.bavail * found.bsize - Math.min(reserveBytes, found.blocks * found.bsize / 10) : Number.POSITIVE_INFINITY
      done()
    })
  }

  /** Looks again before it says no. */
  has(bytes: number, done: (isThere: boolean) => void): void {
    if (this.#left >= bytes) done(true)
    else this.look(() => done(this.#left >= bytes))
  }
}

const full: NodeJS.ErrnoException = Object.assign(new Error("uploads leave the rest of the disk to the journal and the database"), { code: "ENOSPC" })

/** The file system below `directory`, which is made again where it was removed. */
export const diskIn = (directory: string, statfs: Statfs = fs.statfs): CountedDisk => {
  let files = 0
  const room = new Room(directory, statfs)
  const create = (mayMake: boolean, done: Parameters<Disk["open"]>[0]): void => {
    const name = NamelessFile.nameIn(directory)
    fs.open(name, "wx+", 0o600, (error, fd) => {
      if (error?.code === "ENOENT" && mayMake) {
        fs.mkdir(directory, { mode: 0o700 }, () => create(false, done))
        return
      }
      if (error !== null) return done(error, fd)
      files++
      fs.unlink(name, (failure) => {
        // Another process may have swept it.
        if (failure === null || failure.code === "ENOENT") return room.look(() => done(null, fd))
        close(fd)
        done(failure, fd)
      })
    })
  }
  const close = (fd: number): void => {
    fs.close(fd, () => {
      files--
    })
  }
  return {
    open: (done) => create(true, done),
    writev: (fd, bytes, at, done) => room.has(bytes.reduce((sum, { length }) => sum + length, 0), (isThere) => {
      if (!isThere) return done(full, 0)
      fs.writev(fd, bytes, at, (error, written) => {
        room.wrote(written)
        done(error, written)
      })
    }),
    read: (fd, into, at, done) => fs.read(fd, into, 0, into.length, at, (error, bytes) => done(error, bytes)),
    close,
    files: () => files
  }
}

/** What keeps the files of a directory. */
export const Disks = Context.Reference<(directory: string) => CountedDisk>("gateway/spool/Disks", { defaultValue: () => diskIn })

/** Over a disk; `most`: bytes that it keeps at once. */
export const make = (disk: CountedDisk, most: number): Spool["Service"] => {
  const blocks = new BlockPool(blockBytes, keptBlocks)
  const stored = new HeldBytes(most)
  const backlog = new Backlog(mostWaiting)
  let failed = 0
  const onFailure = ({ reason }: SpoolFailure): void => {
    if (reason === "disk" || reason === "disk-full") failed++
  }
  return { open: (held, digests = false) => new SpoolFile({ disk, blocks, stored, held, backlog, onFailure }, digests), backlog, stored, failed: () => failed, files: disk.files }
}

export const layerOf = ({ dataDir, spoolBytes }: Pick<Values, "dataDir" | "spoolBytes">) => Layer.effect(Spool, Effect.map(Disks, (diskOf) => {
  const directory = NamelessFile.directoryIn(dataDir)
  try {
    Directories.makeInData(directory)
    sweep(directory)
  } catch {
    // The gateway serves what needs no file; the first upload that needs one says what is wrong.
  }
  return make(diskOf(directory), spoolBytes)
}))
