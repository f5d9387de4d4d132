/**
 * The threads that read large bodies of requests and of answers, so that the loop never stands still for one. They are started by the first large body; each does
 * one job at a time, the others wait in one line. A thread that dies (its memory is bounded) fails its job alone.
 */
import { getHeapStatistics } from "node:v8"
import { Worker } from "node:worker_threads"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Kind, JobSubject } from "./jobs.ts"

/** What a thread is given. */
export interface Task {
  /** URL of the module that does it. */
  readonly module: string
  readonly job: JobSubject
}

/** What a thread answers. */
export type WorkerReply =
  | { readonly ok: true; readonly said: object }
  | { readonly ok: false; readonly error: Pick<PublicError, "code" | "status" | "type" | "message" | "retryAfterSeconds" | "extra"> }
  | { readonly ok: false; readonly defect: string }

export interface Options {
  /** Threads at once. */
  readonly threads: number
  /** Heap of a thread, MB. */
  readonly heapMb: number
  /** Called with a job's defect. */
  readonly onDefect: (text: string) => void
  /** Called when a thread died. */
  readonly onLost: (error: Error) => void
}

/** A second thread that reads bodies where there is memory for it, and a heap that the worst body within the bounds fits in. */
export const threadsOf = (): Pick<Options, "threads" | "heapMb"> => {
  const heapMb = getHeapStatistics().heap_size_limit / 1024 / 1024
  return { threads: heapMb > 1_024 ? 2 : 1, heapMb: Math.max(384, Math.min(1_024, Math.floor(heapMb / 2))) }
}

interface Waiting extends Task {
  readonly done: (said: object) => void
}

interface Thread {
  readonly worker: Worker
  doing: Waiting | null
}

export class BodyWorkers {
  readonly #options: Options
  readonly #threads: Array<Thread> = []
  readonly #line: Array<Waiting> = []
  #ids = 0
  #closed = false

  constructor(options: Options) {
    this.#options = options
  }

  /** A number that no other body of this process has. */
  nextId(): number {
    return ++this.#ids
  }

  /** Calls `done` once, in a later turn. */
  ask<J extends JobSubject, R extends object>({ module }: Kind<J, R>, job: J, done: (said: R | PublicError) => void): void {
    // The module answers what its kind says.
    this.#line.push({ module, job, done: done as Waiting["done"] })
    this.#next()
  }

  /** Stops the threads; what they were doing fails. */
  close(): void {
    this.#closed = true
    for (const { worker } of this.#threads) void worker.terminate()
  }

  #next(): void {
    if (this.#line.length === 0) return
    const thread = this.#threads.find(({ doing }) => doing === null) ?? this.#begin()
    if (thread === null) return
    const next = this.#line.shift() as Waiting
    thread.doing = next
    thread.worker.postMessage({ module: next.module, job: next.job } satisfies Task)
  }

  #begin(): Thread | null {
    const { heapMb, threads } = this.#options
    if (this.#threads.length >= threads || this.#closed) return null
    const worker = new Worker(new URL("./bodyWorker.ts", import.meta.url), { name: "bodies", resourceLimits: { maxOldGenerationSizeMb: heapMb } })
    const thread: Thread = { worker, doing: null }
    worker.unref()
    worker.on("message", (reply: WorkerReply) => this.#onReply(thread, reply))
    worker.on("error", (cause: Error) => this.#lost(thread, cause.message))
    worker.on("exit", () => this.#lost(thread, "it ended"))
    this.#threads.push(thread)
    return thread
  }

  #onReply(thread: Thread, reply: WorkerReply): void {
    const { doing } = thread
    thread.doing = null
    this.#next()
    if (doing === null) return
    if (reply.ok) this.#tell(doing, reply.said)
    else if ("error" in reply) {
      const { code, extra, message, retryAfterSeconds, status, type } = reply.error
      this.#tell(doing, new PublicError(code, status, type, message, retryAfterSeconds, extra))
    } else {
      this.#options.onDefect(reply.defect)
      this.#tell(doing, Errors.make("internal_server_error", "The request body could not be read: an internal error; the log holds it."))
    }
  }

  /** An error that the callback of a waiting request throws ends neither the thread nor the process. */
  #tell({ done }: Waiting, said: object): void {
    try {
      done(said)
    } catch (cause) {
      this.#options.onDefect(cause instanceof Error ? cause.stack ?? cause.message : String(cause))
    }
  }

  #lost(thread: Thread, why: string): void {
    const at = this.#threads.indexOf(thread)
    if (at < 0) return
    this.#threads.splice(at, 1)
    const { doing } = thread
    if (!this.#closed) this.#options.onLost(new Error(`A thread that reads large bodies was lost: ${why}`))
    doing?.done(this.#closed
      ? Errors.make("shutting_down", "The gateway is shutting down; repeat the request.", { retryAfterSeconds: 1 })
      : Errors.make("payload_too_large", "The request body takes more memory than the gateway has for one: send less of it."))
    this.#next()
  }
}
