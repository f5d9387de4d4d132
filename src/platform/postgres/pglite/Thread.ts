/**
 * The embedded server's threads. One may be begun before the rest of the gateway is loaded: it loads its own modules and compiles its
 * WebAssembly meanwhile, and waits for its directory.
 */
import { Worker } from "node:worker_threads"

const entry = new URL("./worker.ts", import.meta.url)

let early: Worker | null = null

const spawn = (): Worker => new Worker(entry, { name: "pglite" })

/** Begins the thread that the next start takes. It touches no file of the data directory, and holds no process open. */
export const headStart = (): void => {
  if (early !== null) return
  const thread = spawn()
  const gone = () => {
    if (early === thread) early = null
  }
  thread.on("error", gone)
  thread.on("exit", gone)
  thread.unref()
  early = thread
}

/** The thread that was begun early, else a new one. */
export const take = (): Worker => {
  const thread = early ?? spawn()
  early = null
  thread.ref()
  return thread
}
