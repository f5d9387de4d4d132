/**
 * PGlite's Node file system with the fsync that it lacks, so that commits are as durable as on a server.
 *
 * After a crash Postgres flushes every file of the database one by one before it recovers, two thousand calls. `syncTree`
 * does the same beforehand, many files at once; from then on only files that this process has changed need a flush.
 */
import { NodeFS } from "@electric-sql/pglite/nodefs"
import type { PGlite } from "@electric-sql/pglite"
import * as fs from "node:fs"
import * as path from "node:path"
import * as util from "node:util"

/** Files flushed at once: the disk merges their journal commits. */
const lanes = 16
/** Where `pg_control` keeps the state of the database, and the state after a clean end. */
const stateOffset = 16
const shutDown = 1

interface Node {
  /** Set here once this process has changed the file. */
  changed?: boolean
}

interface Stream {
  readonly node: Node
  /** Absent for directories. */
  readonly nfd?: number
}

/** The parts of Emscripten's NODEFS that are wrapped. */
interface Backend {
  readonly realPath: (node: Node) => string
  readonly node_ops: {
    setattr: (node: Node, ...rest: Array<unknown>) => unknown
    mknod: (...all: Array<unknown>) => Node
  }
  readonly stream_ops: {
    write: (stream: Stream, ...rest: Array<unknown>) => unknown
    fsync?: (stream: Stream) => number
  }
}

/** Plain callbacks: promises of file handles would double the CPU of flushing a thousand files. */
const flush = (file: string, done: (error: Error | null) => void): void =>
  fs.open(file, "r", (missing, handle) => {
    if (missing !== null) return done(missing)
    fs.fsync(handle, (failed) => fs.close(handle, (error) => done(failed ?? error ?? null)))
  })

export const syncFile = util.promisify(flush)

/** A server that starts meanwhile removes what it has read, such as its statistics: what is gone needs no flush. */
const isGone = (error: Error): boolean => "code" in error && error.code === "ENOENT"

/** Flushes files and folders. */
export const syncFiles = async (files: ReadonlyArray<string>): Promise<void> => {
  let next = 0
  const lane = (done: (error: Error | null) => void): void => {
    const file = files[next++]
    if (file === undefined) return done(null)
    flush(file, (error) => error === null || isGone(error) ? lane(done) : done(error))
  }
  await Promise.all(Array.from({ length: lanes }, () => util.promisify(lane)()))
}

/** Flushes a whole directory, files and folders. */
export const syncTree = async (directory: string): Promise<void> => {
  const entries = await fs.promises.readdir(directory, { recursive: true })
  await syncFiles([directory, ...entries.map((entry) => path.join(directory, entry))])
}

/** True when the database in the directory was not shut down. */
export const crashed = (directory: string): boolean => {
  const file = path.join(directory, "global", "pg_control")
  return fs.existsSync(file) && fs.readFileSync(file).readUInt32LE(stateOffset) !== shutDown
}

const isBackend = (value: unknown): value is Backend =>
  typeof value === "object" && value !== null && "realPath" in value && "node_ops" in value && "stream_ops" in value

const wrap = (backend: Backend): void => {
  const { node_ops: nodes, stream_ops: streams } = backend
  const { mknod, setattr } = nodes
  const { write } = streams
  nodes.mknod = (...all) => {
    const node = mknod(...all)
    node.changed = true
    return node
  }
  nodes.setattr = (node, ...rest) => {
    node.changed = true
    return setattr(node, ...rest)
  }
  streams.write = (stream, ...rest) => {
    stream.node.changed = true
    return write(stream, ...rest)
  }
  streams.fsync = (stream) => {
    if (typeof stream.nfd === "number") {
      if (stream.node.changed === true) fs.fdatasyncSync(stream.nfd)
      return 0
    }
    const handle = fs.openSync(backend.realPath(stream.node), "r")
    try {
      fs.fsyncSync(handle)
    } finally {
      fs.closeSync(handle)
    }
    return 0
  }
}

export class DurableFS extends NodeFS {
  override async init(pg: PGlite, options: Parameters<NodeFS["init"]>[1]) {
    const amended = await super.init(pg, options)
    amended.emscriptenOpts.preRun = [
      ...(amended.emscriptenOpts.preRun ?? []),
      (module: object) => {
        const backend: unknown = Reflect.get(module, "NODEFS")
        if (!isBackend(backend)) throw new Error("PGlite's file system has changed: fsync cannot be added.")
        wrap(backend)
      }
    ]
    return amended
  }
}
