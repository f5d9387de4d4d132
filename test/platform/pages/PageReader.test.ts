/** The threads that read pages: what a page may take, and that the next one is read whatever the last one did. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { describe, expect, it } from "vitest"
import type { PageTask } from "#src/platform/pages/page.ts"
import * as PageReader from "#src/platform/pages/PageReader.ts"

const task = (text: string, fields: Partial<PageTask> = {}): PageTask => ({
  bytes: Buffer.from(text), mediaType: "text/html", charset: null, url: "https://example.com/a", format: "markdown", ...fields
})
const small = task("<p>small</p>")
/** Each item is inside the one before it, for whoever looks for its parents. */
const endless = task("<li>".repeat(99_000))
const heavy = task(`<p ${"a".repeat(200)}=${"b".repeat(200)}>x</p>`.repeat(11_000))

type Reader = PageReader.PageReader["Service"]

const withReader = <A>(bounds: Partial<PageReader.Options>, work: (reader: Reader) => Effect.Effect<A>): Promise<A> =>
  Effect.runPromise(Effect.scoped(Effect.flatMap(Effect.provideService(PageReader.make, PageReader.Bounds, { ...PageReader.defaults, ...bounds }), work)))

const said = (reader: Reader, one: PageTask): Effect.Effect<string> =>
  Effect.match(reader.read(one), { onFailure: ({ message }) => message, onSuccess: ({ content }) => content })

describe("a page", { timeout: 180_000 }, () => {
  it("that takes too long costs its thread, and the next one is read", async () => {
    expect(await withReader({ threads: 1, readMs: 4_000 }, (reader) => Effect.gen(function*() {
      return [yield* said(reader, small), yield* said(reader, endless), yield* said(reader, small)]
    }))).toEqual(["small", "it takes longer than 4000 ms", "small"])
  })

  it("that takes too much memory costs its thread, and the next one is read", async () => {
    expect(await withReader({ threads: 1, heapMb: 24, readMs: 30_000 }, (reader) => Effect.gen(function*() {
      return [yield* said(reader, small), yield* said(reader, heavy), yield* said(reader, small)]
    }))).toEqual(["small", "it takes more memory than a page may", "small"])
  })

  it("waits for a thread behind few others, and not behind many", async () => {
    const answers = await withReader({ threads: 1, waiting: 2, readMs: 20_000 }, (reader) => Effect.all(Array.from({ length: 4 }, () => said(reader, small)), { concurrency: "unbounded" }))
    expect(answers).toEqual(["small", "small", "small", "too many pages are being read at the moment"])
  })

  it("whose reader is not wanted any more is not read on", async () => {
    await withReader({ threads: 1, readMs: 30_000 }, (reader) => Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(said(reader, endless), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      expect(Exit.isFailure(yield* Fiber.await(fiber))).toBe(true)
      // The thread was ended with it: the next page does not wait behind it.
      expect(yield* said(reader, small)).toBe("small")
    }))
  })
})
