/**
 * The embedded Postgres: PGlite in a worker thread, so that its work never blocks the event loop and it cannot outlive
 * the process. It is started anew when its thread dies or stops answering; nothing listens on any socket.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import type { Duplex } from "node:stream"
import { MessageChannel, Worker } from "node:worker_threads"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Supervisor from "#actors/Supervisor.ts"
import { messageOf } from "#actors/thrown.ts"
import * as Directories from "#src/platform/structures/directories.ts"
import * as DirectoryLock from "./DirectoryLock.ts"
import { PortStream } from "./PortStream.ts"
import { isReport, type MaintenanceOptions, marker, type PgliteReport, type StartData } from "./protocol.ts"

/** The embedded server cannot start. `locked` names the directory and the process that has it. */
export class PgliteError extends Schema.TaggedError<PgliteError>()("PgliteError", {
  reason: Schema.Literals(["locked", "directory", "start-failed"]),
  message: Schema.String
}) {}

export interface Options {
  /** The gateway's data directory; the database is its `pglite` folder. Created with mode 0700. */
  readonly dataDir: string
  /** fsync at every commit, so that a power cut loses nothing; default true. A killed process loses nothing either way. */
  readonly durable?: boolean
  /** False: a first start runs initdb instead of taking the packed database; default true. */
  readonly packed?: boolean
  /** ms for a start, initdb included; default 60000. */
  readonly startTimeout?: number
  /** When it checkpoints and vacuums. */
  readonly maintenance?: MaintenanceOptions
}

export interface Pglite {
  /** Ends when the first start has: the server answers, or it says why not. */
  readonly ready: Effect.Effect<void, PgliteError>
  /** Opens the one session; an older one ends. Starts the server anew when it has died. */
  readonly connect: () => Promise<Duplex>
}

/** ms for an idle server to take a new session. */
const connectTimeout = 10_000
/** ms for a clean shutdown (a checkpoint). */
const closeTimeout = 5_000
/** ms after a start that failed until the next one: a disk that is full refuses each, and each costs a second of the processor. */
const restAfterFailure = 2_000

/** The server that this process began before what uses it was loaded; null = each user begins its own. */
export class Begun extends Context.Reference<Pglite | null>("gateway/platform/postgres/Pglite/Begun", { defaultValue: () => null }) {}

const entry = new URL("./worker.ts", import.meta.url)

/** One life of the thread. */
class Life {
  readonly #worker: Worker
  #waiting: { readonly type: PgliteReport["type"]; readonly resolve: () => void; readonly reject: (error: Error) => void } | null = null
  #over: Error | null = null
  #killed = false
  #ready = false

  /** `lost` is called at an unexpected end. */
  constructor(data: StartData, lost: (error: Error) => void) {
    this.#worker = new Worker(entry, { name: "pglite", workerData: data })
    const died = (error: Error) => {
      if (this.alive && !this.#killed) lost(error)
      this.#end(error)
    }
    this.#worker.on("message", (report: unknown) => {
      if (!isReport(report)) return
      if (report.type === "ready") this.#ready = true
      // A first start that fails is told by what waits for it.
      if (report.type === "failed") (this.#ready ? died : this.#end.bind(this))(new Error(report.message))
      else if (this.#waiting?.type === report.type) {
        const { resolve } = this.#waiting
        this.#waiting = null
        resolve()
      }
    })
    this.#worker.on("error", died)
    this.#worker.on("exit", () => died(new Error("The embedded Postgres has ended.")))
  }

  get alive(): boolean {
    return this.#over === null
  }

  #end(error: Error): void {
    this.#over ??= error
    this.#waiting?.reject(error)
    this.#waiting = null
  }

  /** Waits for a report; one wait at a time. */
  expect(type: PgliteReport["type"], timeout: number): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      if (this.#over !== null) return reject(this.#over)
      const timer = setTimeout(() => this.#end(new Error(`The embedded Postgres was not ${type} within ${timeout} ms.`)), timeout)
      this.#waiting = {
        type,
        resolve: () => {
          clearTimeout(timer)
          resolve()
        },
        reject: (error) => {
          clearTimeout(timer)
          reject(error)
        }
      }
    })
  }

  async session(): Promise<Duplex> {
    const { port1, port2 } = new MessageChannel()
    this.#worker.postMessage({ type: "connect", port: port2 }, [port2])
    await this.expect("connected", connectTimeout)
    // A statement of an embedded server cannot be cancelled: an abandoned one ends with its thread.
    const stream = new PortStream(port1, () => void this.kill())
    const ended = () => stream.destroy()
    this.#worker.once("exit", ended)
    stream.once("close", () => this.#worker.off("exit", ended))
    return stream
  }

  async close(): Promise<void> {
    if (this.alive) {
      this.#worker.postMessage({ type: "close" })
      await this.expect("closed", closeTimeout).catch(() => undefined)
    }
    await this.kill()
  }

  async kill(): Promise<void> {
    this.#killed = true
    this.#end(new Error("The embedded Postgres was stopped."))
    await this.#worker.terminate()
  }
}

export const directoryIn = (dataDir: string): string => path.join(path.resolve(dataDir), "pglite")

/** PGlite runs initdb where this file is missing, over what else is there. */
const versionFile = "PG_VERSION"

/** "unfinished": files without the mark of a finished first start. "torn": a finished database without its version, as a cut restore leaves it. */
export const stateOf = (directory: string): "empty" | "unfinished" | "torn" | "whole" => {
  if (!fs.existsSync(directory) || fs.readdirSync(directory).length === 0) return "empty"
  if (!fs.existsSync(path.join(directory, marker))) return "unfinished"
  return fs.existsSync(path.join(directory, versionFile)) ? "whole" : "torn"
}

/** An interrupted first start leaves half a database: it is moved aside, never deleted. Answers its new place. */
const setAside = (directory: string): string | null => {
  const state = stateOf(directory)
  if (state === "torn") throw new Error(`${versionFile} is missing in it. Restore the whole directory, or move it away to begin with an empty database.`)
  if (state !== "unfinished") return null
  const aside = `${directory}.incomplete-${Date.now()}`
  fs.renameSync(directory, aside)
  return aside
}

/** Locks the directory and begins to start the server; the scope closes it and frees the lock. */
export const begin = Effect.fnUntraced(function*(options: Options) {
  const directory = directoryIn(options.dataDir)
  yield* Effect.try({
    try: () => Directories.makeData(options.dataDir),
    catch: (error) => new PgliteError({ reason: "directory", message: messageOf(error) })
  })
  const beat = yield* Supervisor.ticker("database lock")
  yield* Effect.acquireRelease(
    Effect.tryPromise({
      try: () => DirectoryLock.acquire(`${directory}.lock`, beat),
      catch: (error) =>
        error instanceof DirectoryLock.DirectoryLocked
          ? new PgliteError({ reason: "locked", message: error.message })
          : new PgliteError({ reason: "directory", message: Directories.unusable(path.resolve(options.dataDir), error).message })
    }),
    (lock) => Effect.sync(lock.release)
  )
  const aside = yield* Effect.try({
    try: () => {
      const moved = setAside(directory)
      Directories.make(directory)
      return moved
    },
    catch: (error) => new PgliteError({ reason: "directory", message: `The database directory ${directory} cannot be used: ${messageOf(error)}` })
  })

  if (aside !== null) {
    yield* Effect.logWarning(`The database in ${directory} was not complete: it was moved to ${aside}, and an empty database begins. `
      + `If it came from a backup, stop, remove ${directory}, and restore all of it.`)
  }

  const lost = yield* Supervisor.reporter("embedded database")
  const data: StartData = { directory, durable: options.durable ?? true, packed: options.packed ?? true, maintenance: options.maintenance ?? {} }
  let starting: Life | null = null
  const start = async (): Promise<Life> => {
    const life = new Life(data, lost)
    starting = life
    try {
      await life.expect("ready", options.startTimeout ?? 60_000)
      return life
    } catch (error) {
      await life.kill()
      throw error
    } finally {
      starting = null
    }
  }
  let closed = false
  let current: Promise<Life> = start()
  yield* Effect.addFinalizer(() =>
    Effect.promise(async () => {
      closed = true
      // A stop does not wait for a start: the next one recovers the database, or moves half of a first one aside.
      await starting?.kill()
      const life = await current.catch(() => null)
      await life?.close()
    })
  )
  const first = current
  // Whether it started is asked for later.
  first.catch(() => undefined)
  const ready = Effect.tryPromise({
    try: () => first,
    catch: (error) =>
      new PgliteError({
        reason: "start-failed",
        message: `The embedded Postgres in ${directory} did not start: ${messageOf(error)}. Restore the directory, or use a Postgres server (DATABASE_URL).`
      })
  })

  let resting: Error | null = null
  const connect = async (): Promise<Duplex> => {
    if (closed) throw Object.assign(new Error("The embedded Postgres is closed."), { code: "CONNECTION_ENDED" })
    const life = await current.catch(() => null)
    if (life !== null && life.alive) {
      try {
        return await life.session()
      } catch {
        // It hangs in a statement or has just died.
      }
    }
    if (resting !== null) throw resting
    await life?.kill()
    current = start()
    current.catch((error: unknown) => {
      resting = new Error(`The embedded Postgres in ${directory} did not start again (${messageOf(error)}): free its disk, or see why it cannot be written.`)
      setTimeout(() => {
        resting = null
      }, restAfterFailure).unref()
    })
    return (await current.catch((error: unknown) => Promise.reject(resting ?? error))).session()
  }
  return { ready: Effect.asVoid(ready), connect } satisfies Pglite
})
