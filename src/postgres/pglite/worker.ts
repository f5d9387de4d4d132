/**
 * The embedded server's thread: PGlite on the data directory, one session at a time over a message port.
 *
 * Commits are durable as on a server: PGlite's own `-F` (fsync off) is left out, and fsync, which its Node file system
 * lacks, is added. Without it a killed process loses nothing, but a power cut could tear the database.
 */
import { PGlite } from "@electric-sql/pglite"
import { NodeFS } from "@electric-sql/pglite/nodefs"
import * as fs from "node:fs"
import * as path from "node:path"
import { type MessagePort, parentPort, workerData } from "node:worker_threads"
import { isCommand, isStartData, marker, type Report } from "./protocol.ts"

const terminate = 0x58

/** Emscripten's file system calls `fsync` of the stream operations when there is one. */
class DurableFS extends NodeFS {
  override async init(pg: PGlite, options: Parameters<NodeFS["init"]>[1]) {
    const amended = await super.init(pg, options)
    amended.emscriptenOpts.preRun = [
      ...(amended.emscriptenOpts.preRun ?? []),
      (module: unknown) => {
        const operations: unknown = Reflect.get(Reflect.get(module as object, "NODEFS") as object, "stream_ops")
        Reflect.set(operations as object, "fsync", (stream: { readonly nfd?: unknown }) => {
          if (typeof stream.nfd === "number") fs.fdatasyncSync(stream.nfd)
          return 0
        })
      }
    ]
    return amended
  }
}

const report = (message: Report): void => parentPort?.postMessage(message)

/** Flushes a freshly copied database to the disk, directories after their files. */
const syncTree = async (directory: string): Promise<void> => {
  const entries = await fs.promises.readdir(directory, { withFileTypes: true })
  for (const entry of entries) {
    const file = path.join(directory, entry.name)
    if (entry.isDirectory()) await syncTree(file)
    else await syncFile(file)
  }
  await syncFile(directory)
}

const syncFile = async (file: string): Promise<void> => {
  const handle = await fs.promises.open(file, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const open = async (directory: string, durable: boolean): Promise<PGlite> => {
  const params = PGlite.defaultStartParams.filter((param) => !(durable && param === "-F"))
  const database = await PGlite.create({
    fs: durable ? new DurableFS(directory) : new NodeFS(directory),
    startParams: [...params, "-c", "max_wal_size=128MB", "-c", "log_min_messages=fatal"]
  })
  const mark = path.join(directory, marker)
  if (!fs.existsSync(mark)) {
    await database.exec("CHECKPOINT")
    if (durable) await syncTree(directory)
    fs.writeFileSync(mark, "", { mode: 0o600 })
    if (durable) await syncFile(directory)
  }
  return database
}

/** Speaks the wire protocol of one client until it leaves. */
const serve = (database: PGlite, port: MessagePort): void => {
  port.on("message", (message: Uint8Array) => {
    if (message[0] === terminate) return port.close()
    const parts: Array<Uint8Array> = []
    // Runs to its end before the next message is looked at; only the file system hook after it would be asynchronous.
    database.execProtocolRawStream(message, {
      syncToFs: false,
      onRawData: (data) => {
        parts.push(data.slice())
      }
    }).then(
      () => {
        if (parts.length > 0) port.postMessage(parts.length === 1 ? parts[0] : Buffer.concat(parts))
      },
      () => port.close()
    )
  })
}

const main = async (data: unknown): Promise<void> => {
  if (!isStartData(data)) throw new Error("pglite worker: wrong start data")
  const database = await open(data.directory, data.durable)
  let session: MessagePort | null = null
  parentPort?.on("message", async (command: unknown) => {
    if (!isCommand(command)) return
    if (command.type === "close") {
      session?.close()
      await database.close()
      return report({ type: "closed" })
    }
    session?.close()
    session = command.port
    if (database.isInTransaction()) await database.exec("ROLLBACK")
    await database.exec("DISCARD ALL")
    serve(database, command.port)
    report({ type: "connected" })
  })
  report({ type: "ready" })
}

main(workerData).catch((error: unknown) =>
  report({ type: "failed", message: error instanceof Error ? error.message : String(error) })
)
