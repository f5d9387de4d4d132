/** The thread that reads large bodies: one job at a time, an answer for each. */
import { parentPort } from "node:worker_threads"
import { PublicError } from "#schemas/errors.ts"
import * as Jobs from "./jobs.ts"
import type { WorkerReply, Task } from "./BodyWorkers.ts"

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

/** The modules of the kinds of jobs that were asked for. */
const kinds = new Map<string, Jobs.RunJob<Jobs.JobSubject, object>>()

const runOf = async (module: string): Promise<Jobs.RunJob<Jobs.JobSubject, object>> => {
  const known = kinds.get(module)
  if (known !== undefined) return known
  const { run } = await import(module) as { readonly run: Jobs.RunJob<Jobs.JobSubject, object> }
  kinds.set(module, run)
  return run
}

const replyTo = async ({ job, module }: Task): Promise<WorkerReply> => {
  try {
    const run = await runOf(module)
    // A private copy: the bytes are shared with the loop's thread, and not every reader takes shared memory.
    const said = run({ ...job, bytes: Buffer.from(job.bytes) }, parse)
    return said instanceof PublicError ? { ok: false, error: { ...said } } : { ok: true, said }
  } catch (cause) {
    forget()
    return { ok: false, defect: cause instanceof Error ? cause.stack ?? cause.message : String(cause) }
  }
}

// The loop's thread gives one task at a time.
port.on("message", (task: Task) => {
  clearTimeout(forgetting)
  void replyTo(task).then((reply) => {
    port.postMessage(reply, reply.ok ? transferable(reply.said) : [])
    forgetting = setTimeout(forget, keptMs)
  })
})

/** The bytes of a reply are given away, not copied; those of a pool are shared with others, and stay. */
const transferable = (said: object): Array<ArrayBuffer> => Object.values(said).flatMap((value: unknown) =>
  value instanceof Uint8Array && value.buffer instanceof ArrayBuffer && value.byteLength === value.buffer.byteLength ? [value.buffer] : [])
