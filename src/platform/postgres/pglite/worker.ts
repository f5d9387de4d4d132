/**
 * The embedded server's thread: PGlite on the data directory, one session at a time over a message port.
 *
 * Commits are durable as on a server: PGlite's own `-F` (fsync off) is left out, and its file system gets an fsync.
 * Without them a killed process loses nothing, but a power cut could tear the database.
 */
import { PGlite, type PGliteOptions } from "@electric-sql/pglite"
import { NodeFS } from "@electric-sql/pglite/nodefs"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { type MessagePort, parentPort, workerData } from "node:worker_threads"
import { messageOf } from "#actors/thrown.ts"
import { compactHeap } from "#src/platform/structures/compactHeap.ts"
import { crashed, DurableFS, syncFile, syncFiles, syncTree } from "./DurableFS.ts"
import * as FreshDatabase from "./freshDatabase.ts"
import * as Maintenance from "./Maintenance.ts"
import { errorIn, fatalIn, queryOf } from "./messages.ts"
import { isCommand, isStartData, marker, type PgliteReport, type StartData } from "./protocol.ts"

const terminate = 0x58

/** Postgres fills its buffers with zeros at the start: 128 MB by default. The kernel's page cache stands behind them. */
const smallBuffers = ["-c", "shared_buffers=16MB"]

const report = (message: PgliteReport): void => parentPort?.postMessage(message)

type Compiled = Required<PGliteOptions>["pgliteWasmModule"]

/** Node has it; the types of its version do not say so. */
declare const WebAssembly: { readonly compile: (code: Uint8Array) => Promise<Compiled> }

/** What PGlite would read and compile at its start. */
const compiled = async (): Promise<Compiled> =>
  WebAssembly.compile(fs.readFileSync(new URL("./pglite.wasm", import.meta.resolve("@electric-sql/pglite"))))

const open = async ({ directory, durable, packed }: StartData): Promise<PGlite> => {
  const wasm = compiled()
  // A directory that cannot be used is told first.
  wasm.catch(() => undefined)
  const mark = path.join(directory, marker)
  const isFirst = !fs.existsSync(mark)
  const unpacked = isFirst && packed ? FreshDatabase.unpack(directory) : null
  if (durable && !isFirst && crashed(directory)) await syncTree(directory)
  // The disk works while WebAssembly is compiled. What Postgres changes meanwhile, it flushes itself.
  const flushed = unpacked !== null && durable ? syncFiles(unpacked) : null
  flushed?.catch(() => undefined)
  // fdatasync, the default way to flush the log, is an empty function in Emscripten; fsync reaches the file system.
  const params = durable
    ? [...PGlite.defaultStartParams.filter((param) => param !== "-F"), "-c", "wal_sync_method=fsync"]
    : PGlite.defaultStartParams
  const database = await PGlite.create({
    fs: durable ? new DurableFS(directory) : new NodeFS(directory),
    pgliteWasmModule: await wasm,
    startParams: [...params, ...smallBuffers],
    initDbStartParams: FreshDatabase.initDbParams
  })
  if (!isFirst) return database
  if (unpacked === null) {
    await FreshDatabase.trim(database)
    await database.exec("CHECKPOINT")
    if (durable) await syncTree(directory)
  }
  await flushed
  fs.writeFileSync(mark, "", { mode: 0o600 })
  if (durable) await syncFile(directory)
  return database
}

/**
 * Nice levels behind the other threads: on one core the event loop then runs first, with three times the database's share. Ten levels
 * would starve it beside other busy processes, until an operator's write meets its deadline.
 */
const behind = 5

/** Linux keeps a priority per thread, and 0 means the thread that asks; elsewhere it would be the whole process. */
const stepBack = (): void => {
  if (process.platform !== "linux") return
  try {
    os.setPriority(0, Math.min(os.constants.priority.PRIORITY_LOW, os.getPriority(0) + behind))
  } catch {
    // A sandbox may refuse it: the database then works at the process's priority.
  }
}

const readyReply = [0x5a, 0, 0, 0, 5]
const idleReply = [...readyReply, 0x49]

/** True when a reply ends with ReadyForQuery, in any state or outside any transaction. */
const endsWith = (reply: Uint8Array, end: ReadonlyArray<number>): boolean =>
  end.every((byte, index) => reply[reply.length - idleReply.length + index] === byte)
const endsIdle = (reply: Uint8Array): boolean => endsWith(reply, idleReply)
const endsReady = (reply: Uint8Array): boolean => endsWith(reply, readyReply)

const main = async (): Promise<void> => {
  // An event loop that has nothing to wait for but WebAssembly stops, and Node then waits for all of V8's optimising too.
  setInterval(() => undefined, 60_000)
  const data: unknown = workerData
  if (!isStartData(data)) throw new Error("pglite worker: wrong start data")
  const database = await open(data)
  // The files that were read, and what starting left behind. The owner's own compaction comes after readiness.
  await compactHeap()
  // Not before: a start waits for it.
  stepBack()

  let session: MessagePort | null = null
  // One thing at a time: messages of the session, a new session, maintenance.
  let last: Promise<void> = Promise.resolve()
  const exclusive = (task: () => Promise<void>): void => {
    last = last.then(task)
  }
  const ask = async (message: Uint8Array): Promise<Uint8Array> => {
    const parts: Array<Uint8Array> = []
    await database.execProtocolRawStream(message, {
      syncToFs: false,
      onRawData: (part) => {
        parts.push(part.slice())
      }
    })
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
  }

  /** A backend that gave up never answers again and keeps a core busy: nothing more is asked of it. */
  const whileItLives = async (reply: Uint8Array): Promise<void> => {
    const failure = endsReady(reply) ? null : fatalIn(reply)
    if (failure === null) return
    maintenance.stop()
    session?.close()
    report({ type: "failed", message: `The embedded Postgres gave up: ${failure}` })
    await new Promise<never>(() => undefined)
  }

  const statement = async (sql: string): Promise<void> => {
    const reply = await ask(queryOf(sql))
    await whileItLives(reply)
    const refused = errorIn(reply)
    if (refused !== null) throw new Error(refused.message)
  }
  const maintenance = Maintenance.make(database, statement, exclusive, data.maintenance)

  const answer = async (port: MessagePort, message: Uint8Array): Promise<void> => {
    let reply: Uint8Array
    try {
      reply = await ask(message)
    } catch {
      return port.close()
    }
    if (reply.length > 0) port.postMessage(reply)
    await whileItLives(reply)
    maintenance.used(message.length, endsIdle(reply))
  }

  const connect = async (port: MessagePort): Promise<void> => {
    session?.close()
    session = port
    if (database.isInTransaction()) await database.exec("ROLLBACK")
    await database.exec("DISCARD ALL")
    port.on("message", (message: Uint8Array) =>
      message[0] === terminate ? port.close() : exclusive(() => answer(port, message)))
    report({ type: "connected" })
  }

  parentPort?.on("message", (command: unknown) => {
    if (!isCommand(command)) return
    exclusive(async () => {
      if (command.type === "connect") return connect(command.port)
      maintenance.stop()
      session?.close()
      await database.close()
      report({ type: "closed" })
    })
  })
  report({ type: "ready" })
}

main().catch((error: unknown) =>
  report({ type: "failed", message: messageOf(error) })
)
