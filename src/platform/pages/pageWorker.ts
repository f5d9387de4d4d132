/** The thread that reads pages: one at a time, a reply for each. */
import { parentPort } from "node:worker_threads"
import { read } from "./extract.ts"
import type { PageReply, PageTask } from "./page.ts"

const port = parentPort
if (port === null) throw new Error("pageWorker.ts is the entry of a worker thread")

const replyTo = async (task: PageTask): Promise<PageReply> => {
  try {
    return await read({ ...task, bytes: new Uint8Array(task.bytes) })
  } catch (error) {
    // A page may be anything: what reads it may give up.
    return { refused: error instanceof RangeError ? "it nests too deeply" : `it is damaged (${error instanceof Error ? error.message.slice(0, 200) : "unknown"})` }
  }
}

// The loop's thread gives one task at a time.
port.on("message", (task: PageTask) => {
  void replyTo(task).then((reply) => port.postMessage(reply))
})
