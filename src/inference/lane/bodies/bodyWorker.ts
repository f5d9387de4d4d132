/** The thread that reads large bodies: one job at a time, an answer for each. */
import { parentPort } from "node:worker_threads"
import { PublicError } from "#schemas/errors.ts"
import * as Jobs from "./jobs.ts"
import type { Reply } from "./BodyWorkers.ts"

/** How long the tree of a body is kept for the next job about it, ms. */
const keptMs = 500

let newest: { readonly id: number; readonly body: Record<string, unknown> } | null = null
let forgetting: NodeJS.Timeout | undefined

/** The jobs about one body follow each other closely. */
const parse: Jobs.Parse = ({ bytes, id }) => {
  if (newest?.id === id) return newest.body
  // The tree before this one makes room first.
  newest = null
  const body = Jobs.parseBody(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  if (!(body instanceof PublicError)) newest = { id, body }
  return body
}

const forget = (): void => {
  newest = null
}

const port = parentPort
if (port === null) throw new Error("bodyWorker.ts is the entry of a worker thread")

port.on("message", (job: Jobs.Job) => {
  clearTimeout(forgetting)
  let reply: Reply
  try {
    // A private copy: the bytes are shared with the loop's thread, and not every reader takes shared memory.
    const said = Jobs.run({ ...job, bytes: Buffer.from(job.bytes) }, parse)
    reply = said instanceof PublicError ? { ok: false, error: { ...said } } : { ok: true, said }
  } catch (cause) {
    forget()
    reply = { ok: false, defect: cause instanceof Error ? cause.stack ?? cause.message : String(cause) }
  }
  port.postMessage(reply, reply.ok ? transferable(reply.said) : [])
  forgetting = setTimeout(forget, keptMs)
})

/** The bytes of a reply are given away, not copied; those of a pool are shared with others, and stay. */
const transferable = (said: Jobs.Replies[Jobs.Job["kind"]]): Array<ArrayBuffer> => {
  const bytes = said instanceof Uint8Array ? said : "body" in said ? said.body : null
  return bytes !== null && bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength ? [bytes.buffer] : []
}
