import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { Events } from "#actors/webhook/Events.ts"
import { StoreError } from "#actors/ports/StoreError.ts"
import { Webhooks } from "#actors/webhook/ports/Webhooks.ts"
import type { QueuedEvent } from "#actors/webhook/ports/WebhookQueue.ts"
import type { RequestFailed } from "#schemas/events.ts"
import { EventFile, MAX_BYTES, readUnsafe } from "#src/features/webhooks/EventFile.ts"
import * as FiledEvents from "#src/features/webhooks/FiledEvents.ts"

const directory = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "gateway-events-"))),
  (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
)
const failed = (trace: string): RequestFailed => ({ type: "request.failed", at: 1_000, data: { trace_id: trace, text: "zwölf \u2028 \n Zeichen" } })
const away = Effect.fail(new StoreError({ store: "WebhookQueue", operation: "append", reason: "unavailable", message: "away" }))

/** The port over a queue that is there or not; `seen` opens once something was tried. */
const open = (dir: string, got: Array<QueuedEvent>, there: () => boolean, seen = Latch.makeUnsafe(false)) => Effect.map(
  Layer.build(FiledEvents.layer({ directory: dir, processId: "node-a" }).pipe(Layer.provide(Layer.succeed(Webhooks, {
    wants: (type) => type === "request.failed",
    append: (events) => Effect.suspend(() => {
      seen.openUnsafe()
      if (!there()) return away
      got.push(...events)
      return Effect.void
    }),
    refresh: Effect.void,
    test: () => Effect.die("not asked"), replay: () => Effect.die("not asked")
  })))),
  (context) => Effect.provideContext(Effect.gen(function*() {
    return yield* Events
  }), context)
).pipe(Effect.flatten)

describe("published events", () => {
  it.live("go to the queue; what nobody wants goes nowhere; at rest no file is left", () => Effect.gen(function*() {
    const dir = yield* directory
    const got: Array<QueuedEvent> = []
    const seen = Latch.makeUnsafe(false)
    yield* Effect.scoped(Effect.gen(function*() {
      const events = yield* open(dir, got, () => true, seen)
      events.publish(failed("t-1"))
      events.publish({ type: "request.completed", at: 1, data: {} })
      yield* seen.await
    }))
    // The end may come between the queue's answer and its note: then it is told again, with the same id.
    assert.deepStrictEqual([...new Set(got.map(({ id }) => id))], ["evt_t-1_1000"])
    assert.strictEqual(got[0]?.at, "1970-01-01T00:00:01.000Z")
    assert.deepInclude(JSON.parse(got[0]?.body ?? ""), { event: "request.failed", timestamp: "1970-01-01T00:00:01.000Z" })
    assert.deepStrictEqual(fs.readdirSync(dir), [])
  }))

  it.live("that the store did not take before the end are brought over by the next process in the directory", () => Effect.gen(function*() {
    const dir = yield* directory
    const got: Array<QueuedEvent> = []
    const seen = Latch.makeUnsafe(false)
    yield* Effect.scoped(Effect.gen(function*() {
      const events = yield* open(dir, [], () => false, seen)
      for (let n = 0; n < 3_000; n++) events.publish(failed(`t-${n}`))
      yield* seen.await
    }))
    assert.isNotEmpty(fs.readdirSync(dir))
    // A torn line, as a crash leaves it.
    const [file] = fs.readdirSync(dir).filter((name) => name.endsWith(".log"))
    fs.appendFileSync(path.join(dir, file ?? ""), `{"id":"evt_torn","type":"request.fai`)
    yield* Effect.scoped(Effect.gen(function*() {
      yield* open(dir, got, () => true)
      while (got.length < 3_000) yield* Effect.yieldNow
    }))
    assert.deepStrictEqual(got.map(({ id }) => id), Array.from({ length: 3_000 }, (_, n) => `evt_t-${n}_1000`))
    assert.deepStrictEqual(fs.readdirSync(dir), [])
  }))

  it.live("of a dead process are brought over beside another one's that the file system refuses", () => {
    const lines: Array<string> = []
    return Effect.gen(function*() {
      const dir = yield* directory
      const got: Array<QueuedEvent> = []
      const seen = Latch.makeUnsafe(false)
      yield* Effect.scoped(Effect.gen(function*() {
        const events = yield* open(dir, [], () => false, seen)
        events.publish(failed("t-1"))
        yield* seen.await
      }))
      const refused = path.join(dir, "a-node.0123456789ab-00000001.log")
      fs.mkdirSync(refused)
      yield* Effect.scoped(Effect.gen(function*() {
        yield* open(dir, got, () => true)
        while (got.length < 1) yield* Effect.yieldNow
      })).pipe(Effect.timeout("10 seconds"))
      assert.deepStrictEqual(got.map(({ id }) => id), ["evt_t-1_1000"])
      assert.deepStrictEqual(lines.filter((line) => line.includes("defect")), [])
      assert.strictEqual(lines.filter((line) => line.includes(refused)).length, 1, lines.join("\n"))
    }).pipe(Effect.provide(Logger.layer([Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))])))
  })

  it.live("are read back line by line, however long a line is, and are refused above the bound", () => Effect.gen(function*() {
    const dir = yield* directory
    const file = new EventFile(dir, "node-a")
    const long = (id: string) => ({ id, type: "request.failed", at: "2026-01-01T00:00:00.000Z", body: "x".repeat(400_000) })
    const ids: Array<string> = []
    for (const id of ["a", "b", "c"]) assert.isTrue(file.append(long(id)))
    while (file.waiting) {
      const { end, events } = file.peek()
      ids.push(...events.map((event) => event.id))
      file.done(end)
    }
    assert.deepStrictEqual(ids, ["a", "b", "c"])
    assert.isFalse(file.append({ ...long("d"), body: "x".repeat(MAX_BYTES) }))
    assert.strictEqual(file.dropped, 1)
    file.close()
    const other = path.join(dir, "x")
    fs.writeFileSync(other, "\n\n{}\nnot json\n")
    const fd = fs.openSync(other, "r")
    assert.deepStrictEqual(readUnsafe(fd, 0, fs.fstatSync(fd).size).events, [])
    fs.closeSync(fd)
  }))

  it.live("that an earlier release wrote down without their time have the one of their body", () => Effect.gen(function*() {
    const file = path.join(yield* directory, "x")
    const body = JSON.stringify({ event: "request.failed", timestamp: "2026-01-01T00:00:00.000Z", data: {} })
    fs.writeFileSync(file, [{ id: "a", type: "request.failed", body }, { id: "b", type: "request.failed", body: "{}" }].map((line) => `${JSON.stringify(line)}\n`).join(""))
    const fd = fs.openSync(file, "r")
    assert.deepStrictEqual(readUnsafe(fd, 0, fs.fstatSync(fd).size).events, [{ id: "a", type: "request.failed", at: "2026-01-01T00:00:00.000Z", body }])
    fs.closeSync(fd)
  }))
})
