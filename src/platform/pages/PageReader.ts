/**
 * Reads pages in threads of their own: parsing a hostile page takes as long and as much memory as it wants. A page
 * that takes too long costs its thread; the next page starts another one.
 */
import { Worker } from "node:worker_threads"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import * as Supervisor from "#actors/Supervisor.ts"
import type { Page, PageReply, PageTask } from "./page.ts"

/** Why a page was not read: a clause that goes on after "could not be read: ". */
export class PageRefused extends Schema.TaggedError<PageRefused>()("PageRefused", { message: Schema.String }) {}

export interface Options {
  /** Threads at once. */
  readonly threads: number
  /** Heap of a thread, MB. */
  readonly heapMb: number
  /** For one page, ms. */
  readonly readMs: number
  /** Pages that may wait for a thread. */
  readonly waiting: number
}

export const defaults: Options = { threads: 2, heapMb: 256, readMs: 10_000, waiting: 64 }

/** For tests: bounds that a page reaches soon. */
export const Bounds = Context.Reference<Options>("gateway/pages/Bounds", { defaultValue: () => defaults })

export class PageReader extends Context.Service<PageReader, {
  readonly read: (task: PageTask) => Effect.Effect<Page, PageRefused>
}>()("gateway/pages/PageReader") {}

const refuse = (message: string): PageRefused => new PageRefused({ message })

export const make = Effect.gen(function*() {
  const { heapMb, readMs, threads, waiting } = yield* Bounds
  const report = yield* Supervisor.reporter("page threads")
  const places = yield* Semaphore.make(threads)
  const idle: Array<Worker> = []
  const all = new Set<Worker>()
  /** Threads whose end is wanted. */
  const ended = new WeakSet<Worker>()
  const end = (worker: Worker): Promise<unknown> => {
    ended.add(worker)
    return worker.terminate()
  }
  let inLine = 0
  yield* Effect.addFinalizer(() => Effect.promise(() => Promise.all(Array.from(all, end))))

  const begin = (): Worker => {
    const worker = new Worker(new URL("./pageWorker.ts", import.meta.url), { name: "pages", resourceLimits: { maxOldGenerationSizeMb: heapMb } })
    worker.unref()
    all.add(worker)
    worker.once("exit", () => {
      all.delete(worker)
      const at = idle.indexOf(worker)
      if (at >= 0) idle.splice(at, 1)
      if (!ended.has(worker)) report(new Error("A thread that reads pages was lost."))
    })
    return worker
  }

  const ask = (task: PageTask): Effect.Effect<Page, PageRefused> => Effect.callback<Page, PageRefused>((resume) => {
    const worker = idle.pop() ?? begin()
    const quiet = (): void => {
      worker.off("message", onMessage)
      worker.off("error", onError)
      worker.off("exit", onExit)
    }
    const onMessage = (reply: PageReply): void => {
      quiet()
      idle.push(worker)
      resume("page" in reply ? Effect.succeed(reply.page) : Effect.fail(refuse(reply.refused)))
    }
    const onError = (error: Error): void => {
      quiet()
      const isMemory = "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY"
      if (!isMemory) report(error)
      void end(worker)
      resume(Effect.fail(refuse(isMemory ? "it takes more memory than a page may" : "the reader failed")))
    }
    const onExit = (): void => {
      quiet()
      resume(Effect.fail(refuse("the reader was stopped")))
    }
    worker.on("message", onMessage)
    worker.on("error", onError)
    worker.on("exit", onExit)
    worker.postMessage(task)
    return Effect.sync(() => {
      quiet()
      // It may be in a loop that nothing else ends.
      void end(worker)
    })
  })

  return PageReader.of({
    read: (task) => Effect.suspend(() => {
      if (inLine >= waiting + threads) return Effect.fail(refuse("too many pages are being read at the moment"))
      inLine++
      const limited = Effect.timeoutOrElse(ask(task), { duration: Duration.millis(readMs), orElse: () => Effect.fail(refuse(`it takes longer than ${readMs} ms`)) })
      return Effect.ensuring(places.withPermits(1)(limited), Effect.sync(() => {
        inLine--
      }))
    })
  })
})

export const layer = Layer.effect(PageReader, make)
