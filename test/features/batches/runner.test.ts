/** The runner over stores in memory, with answers of the test's own and a clock that stands still until it is moved. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { StoreError } from "#actors/ports/StoreError.ts"
import { Webhooks } from "#actors/webhook/ports/Webhooks.ts"
import type { QueuedEvent } from "#actors/webhook/ports/WebhookQueue.ts"
import { Flags } from "#actors/ports/Flags.ts"
import type { BatchRecord, BatchState } from "#schemas/batches/Batch.ts"
import * as CleanUp from "#src/features/batches/cleanUp.ts"
import { BatchStore } from "#src/features/batches/ports/BatchStore.ts"
import * as BatchFiles from "#src/features/batches/run/BatchFiles.ts"
import * as BatchRunner from "#src/features/batches/run/BatchRunner.ts"
import type { LineReply, LineRequest } from "#src/features/batches/run/LineCalls.ts"
import { FileRecords } from "#src/features/files/ports/FileRecords.ts"
import { FileStore } from "#src/features/files/ports/FileStore.ts"
import * as LocalPlacement from "#src/platform/cluster/LocalPlacement.ts"
import * as MemoryBatches from "#test/support/memoryBatches.ts"
import * as MemoryFiles from "#test/support/memoryFiles.ts"
import { batchRecord } from "#test/suites/records.ts"
import { callsOf, chatLine } from "./support.ts"

const DAY_MS = 86_400_000
const body = Buffer.from('{"object":"chat.completion","usage":{"prompt_tokens":2,"completion_tokens":1}}')
const ok: LineReply = { _tag: "Answered", answer: { status: 200, requestId: "req_1", body } }
const later = (waitMs: number): LineReply => ({ _tag: "Later", waitMs, answer: { status: 429, requestId: "req_1", body: Buffer.from('{"error":{"message":"later"}}') } })

interface World {
  readonly asked: Array<LineRequest>
  readonly told: Array<QueuedEvent>
  webhooksAway: boolean
  serving: boolean
  readonly ask: (request: LineRequest) => Effect.Effect<LineReply>
}

const worldOf = (ask: World["ask"] = () => Effect.succeed(ok)): World => ({ asked: [], told: [], webhooksAway: false, serving: true, ask })

const layerOf = (world: World, { concurrency = 4, mostLines = 1_000 } = {}) => BatchRunner.layer({ concurrency, mostLines, pollMs: 10_000 }).pipe(
  Layer.provide(callsOf((request) => Effect.suspend(() => {
    world.asked.push(request)
    return world.ask(request)
  }), () => world.serving)),
  Layer.provide(LocalPlacement.layer),
  Layer.provide(Layer.succeed(Webhooks, {
    wants: () => true, refresh: Effect.void, test: () => Effect.die("not asked"), replay: () => Effect.die("not asked"),
    append: (events) => Effect.suspend(() => {
      if (world.webhooksAway) return Effect.fail(new StoreError({ store: "WebhookQueue", operation: "append", reason: "unavailable", message: "away" }))
      world.told.push(...events)
      return Effect.void
    })
  }))
)
const fileIdOf = (batch: string, kind: "output" | "error") => BatchFiles.fileIdOf(MemoryFiles.MARK, batch, kind)
const stores = Layer.merge(MemoryBatches.layer, MemoryFiles.layer)

const upload = Effect.fnUntraced(function*(id: string, text: string) {
  const written = yield* (yield* FileStore).write(id, Stream.make(Buffer.from(text)))
  yield* (yield* FileRecords).insert({
    id, ownerKeyId: "k1", filename: "in.jsonl", purpose: "batch", contentType: "application/jsonl", ...written, status: "processed", statusDetails: null, createdAt: 0, expiresAt: null
  })
})

const begin = Effect.fnUntraced(function*(id: string, lines: ReadonlyArray<string>, fields: Partial<BatchRecord> = {}, state: Partial<BatchState> = {}) {
  yield* upload(`file-${id}`, lines.map((line) => `${line}\n`).join(""))
  const now = yield* Clock.currentTimeMillis
  yield* (yield* BatchStore).insert(batchRecord(id, fields, { createdAt: now, expiresAt: now + DAY_MS, ...state }))
})

const stateOf = (id: string) => Effect.flatMap(BatchStore, (store) => Effect.map(store.find(id, "all"), (record) => record!.state))

/** Lets everything run that does not wait for the clock. */
const settle = Effect.gen(function*() {
  for (let i = 0; i < 1_000; i++) yield* Effect.yieldNow
})

const contentOf = (fileId: string | null) => fileId === null ? Effect.succeed([]) : Effect.gen(function*() {
  const chunks = yield* Stream.runCollect((yield* FileStore).read(fileId))
  return Buffer.concat([...chunks]).toString("utf8").trimEnd().split("\n").map((line) => JSON.parse(line) as Record<string, unknown>)
})

const chats = (count: number): ReadonlyArray<string> => Array.from({ length: count }, (_, n) => chatLine(`c-${n}`, "m"))

describe("the runner", () => {
  it.effect("finds a batch at its next look, and runs no more lines at once than it may", () => Effect.gen(function*() {
    let now = 0
    let most = 0
    const world = worldOf(() => Effect.acquireUseRelease(Effect.sync(() => { most = Math.max(most, ++now) }), () => Effect.as(Effect.sleep(100), ok), () => Effect.sync(() => { now-- })))
    yield* Effect.gen(function*() {
      yield* begin("batch_a", chats(30))
      yield* begin("batch_b", chats(30))
      yield* Layer.launch(layerOf(world, { concurrency: 3 })).pipe(Effect.forkScoped)
      for (let i = 0; i < 40; i++) {
        yield* settle
        yield* TestClock.adjust(100)
      }
      yield* settle
      for (const id of ["batch_a", "batch_b"]) assert.deepInclude(yield* stateOf(id), { status: "completed", total: 30, completed: 30, failed: 0 })
      assert.strictEqual(most, 3)
      assert.deepStrictEqual((yield* contentOf(fileIdOf("batch_a", "output"))).map((line) => line["custom_id"]), Array.from({ length: 30 }, (_, n) => `c-${n}`))
    }).pipe(Effect.provide(stores), Effect.scoped)
  }))

  it.effect("asks a line again at most five times when it is told to come later", () => Effect.gen(function*() {
    const world = worldOf(() => Effect.succeed(later(60_000)))
    yield* Effect.gen(function*() {
      yield* begin("batch_a", chats(1))
      yield* Layer.launch(layerOf(world)).pipe(Effect.forkScoped)
      yield* settle
      for (let waits = 1; waits <= 5; waits++) {
        assert.strictEqual(world.asked.length, waits)
        yield* TestClock.adjust(59_000)
        yield* settle
        assert.strictEqual(world.asked.length, waits)
        yield* TestClock.adjust(1_000)
        yield* settle
      }
      assert.strictEqual(world.asked.length, 6)
      assert.strictEqual(new Set(world.asked.map(({ idempotencyKey }) => idempotencyKey)).size, 1)
      assert.deepInclude(yield* stateOf("batch_a"), { status: "completed", completed: 0, failed: 1 })
      assert.deepNestedInclude((yield* contentOf(fileIdOf("batch_a", "error")))[0], { custom_id: "c-0", "response.status_code": 429 })
    }).pipe(Effect.provide(stores), Effect.scoped)
  }))

  it.effect("waits longer each time where less is asked", () => Effect.gen(function*() {
    const world = worldOf(() => Effect.succeed(later(1_000)))
    yield* Effect.gen(function*() {
      yield* begin("batch_a", chats(1))
      yield* Layer.launch(layerOf(world)).pipe(Effect.forkScoped)
      yield* settle
      for (const [index, waitMs] of [1_000, 2_000, 4_000, 8_000, 16_000].entries()) {
        yield* TestClock.adjust(waitMs - 1)
        yield* settle
        assert.strictEqual(world.asked.length, index + 1)
        yield* TestClock.adjust(1)
        yield* settle
      }
      assert.strictEqual(world.asked.length, 6)
    }).pipe(Effect.provide(stores), Effect.scoped)
  }))

  it.effect("ends a batch whose window is over with what it has; the other lines are errors", () => Effect.gen(function*() {
    const world = worldOf((request) => request.requestId === world.asked[0]?.requestId ? Effect.succeed(ok) : Effect.never)
    yield* Effect.gen(function*() {
      yield* begin("batch_a", chats(700))
      yield* Layer.launch(layerOf(world)).pipe(Effect.forkScoped)
      yield* settle
      assert.deepInclude(yield* stateOf("batch_a"), { status: "in_progress", completed: 1 })
      yield* TestClock.adjust(DAY_MS)
      yield* settle
      // Calls in flight get a moment.
      assert.deepInclude(yield* stateOf("batch_a"), { status: "in_progress", completed: 1 })
      yield* TestClock.adjust(20_000)
      yield* settle
      assert.deepInclude(yield* stateOf("batch_a"), { status: "expired", total: 700, completed: 1, failed: 699 })
      const errors = yield* contentOf(fileIdOf("batch_a", "error"))
      assert.strictEqual(errors.length, 699)
      assert.deepNestedInclude(errors[0], { custom_id: "c-1", response: null, "error.code": "batch_expired" })
      assert.strictEqual((yield* contentOf(fileIdOf("batch_a", "output"))).length, 1)
      assert.strictEqual((yield* (yield* FileRecords).find(fileIdOf("batch_a", "output"), "all"))?.expiresAt, (yield* stateOf("batch_a")).finalizingAt! + 3_600_000)
    }).pipe(Effect.provide(stores), Effect.scoped)
  }))

  it.effect("finds the few lines that failed among many, and writes each file in the order of its lines", () => Effect.gen(function*() {
    const bad: LineReply = { _tag: "Answered", answer: { status: 400, requestId: "req_1", body: Buffer.from('{"error":{"message":"no"}}') } }
    const failing = new Set(["batch_a:2", "batch_a:1300", "batch_a:2999"])
    const world = worldOf(({ idempotencyKey }) => Effect.succeed(failing.has(idempotencyKey) ? bad : ok))
    yield* Effect.gen(function*() {
      yield* begin("batch_a", chats(3_000))
      yield* Layer.launch(layerOf(world, { concurrency: 64, mostLines: 3_000 })).pipe(Effect.forkScoped)
      for (let i = 0; i < 20; i++) yield* settle
      assert.deepInclude(yield* stateOf("batch_a"), { status: "completed", completed: 2_997, failed: 3 })
      const idsOf = (kind: "output" | "error") => Effect.map(contentOf(fileIdOf("batch_a", kind)), (lines) => lines.map((line) => line["custom_id"]))
      assert.deepStrictEqual(yield* idsOf("error"), ["c-1", "c-1299", "c-2998"])
      assert.deepStrictEqual(yield* idsOf("output"), Array.from({ length: 3_000 }, (_, n) => `c-${n}`).filter((id) => !["c-1", "c-1299", "c-2998"].includes(id)))
    }).pipe(Effect.provide(stores), Effect.scoped)
  }))

  it.effect("goes on where another one stopped, and asks no line twice that has its answer", () => Effect.gen(function*() {
    const held = worldOf(() => held.asked.length <= 100 ? Effect.succeed(ok) : Effect.never)
    yield* Effect.gen(function*() {
      yield* begin("batch_a", chats(300))
      yield* Effect.gen(function*() {
        yield* Layer.launch(layerOf(held)).pipe(Effect.forkScoped)
        yield* settle
      }).pipe(Effect.scoped)
      const { cursor, state } = (yield* (yield* BatchStore).find("batch_a", "all"))!
      assert.deepStrictEqual([state.status, state.completed], ["in_progress", 100])
      assert.isAbove(cursor.line, 60)
      const next = worldOf()
      yield* Layer.launch(layerOf(next)).pipe(Effect.forkScoped)
      yield* settle
      assert.deepInclude(yield* stateOf("batch_a"), { status: "completed", completed: 300 })
      assert.strictEqual(next.asked.length, 200)
      assert.strictEqual(new Set([...held.asked.slice(0, 100), ...next.asked].map(({ requestId }) => requestId)).size, 300)
      assert.deepStrictEqual((yield* contentOf(fileIdOf("batch_a", "output"))).map((line) => line["custom_id"]), Array.from({ length: 300 }, (_, n) => `c-${n}`))
    }).pipe(Effect.provide(stores), Effect.scoped)
  }))

  it.effect("goes on past a line that takes long, and begins behind the lines before it after a crash", () => Effect.gen(function*() {
    const held = worldOf((request) => request.idempotencyKey === "batch_a:70" ? Effect.never : Effect.succeed(ok))
    yield* Effect.gen(function*() {
      yield* begin("batch_a", chats(500))
      yield* Effect.gen(function*() {
        yield* Layer.launch(layerOf(held)).pipe(Effect.forkScoped)
        yield* settle
        yield* settle
      }).pipe(Effect.scoped)
      const { cursor, state } = (yield* (yield* BatchStore).find("batch_a", "all"))!
      assert.deepStrictEqual([state.status, state.completed], ["in_progress", 499])
      assert.isAtMost(cursor.line, 70)
      assert.isAbove(cursor.line, 60)
      const next = worldOf()
      yield* Layer.launch(layerOf(next)).pipe(Effect.forkScoped)
      yield* settle
      assert.deepStrictEqual(next.asked.map(({ idempotencyKey }) => idempotencyKey), ["batch_a:70"])
      assert.deepInclude(yield* stateOf("batch_a"), { status: "completed", completed: 500 })
    }).pipe(Effect.provide(stores), Effect.scoped)
  }))

  it.effect("writes answers together, so that no line waits for more than its own write and the one before", () => Effect.gen(function*() {
    const world = worldOf()
    let writes = 0
    const slow = Layer.effect(BatchStore, Effect.map(BatchStore, (store) => BatchStore.of({
      ...store,
      finish: (...given) => Effect.suspend(() => {
        writes++
        return Effect.delay(store.finish(...given), 10)
      })
    }))).pipe(Layer.provide(MemoryBatches.layer))
    yield* Effect.gen(function*() {
      yield* begin("batch_a", chats(320))
      yield* Layer.launch(layerOf(world, { concurrency: 32 })).pipe(Effect.forkScoped)
      for (let i = 0; i < 40; i++) {
        yield* settle
        yield* TestClock.adjust(10)
      }
      yield* settle
      assert.deepInclude(yield* stateOf("batch_a"), { status: "completed", completed: 320 })
      assert.isAtMost(writes, 2 * 320 / 32 + 2)
    }).pipe(Effect.provide(Layer.merge(slow, MemoryFiles.layer)), Effect.scoped)
  }))

  it.effect("that meets another one's answers asks nothing more for a moment, and then what is left", () => Effect.gen(function*() {
    const gate = yield* Latch.make(false)
    const world = worldOf(() => Effect.as(gate.await, ok))
    yield* Effect.gen(function*() {
      yield* begin("batch_a", chats(10))
      yield* Layer.launch(layerOf(world, { concurrency: 2 })).pipe(Effect.forkScoped)
      yield* settle
      assert.strictEqual(world.asked.length, 2)
      const other = [3, 4, 5, 6].map((line) => ({ line, failed: false, text: `{"custom_id":"c-${line - 1}"}`, usage: null }))
      assert.isNotNull(yield* (yield* BatchStore).finish("batch_a", other, 0))
      yield* gate.open
      yield* settle
      // Lines that had their turn already are asked, and no others.
      const asked = world.asked.length
      assert.isAtMost(asked, 6)
      assert.deepInclude(yield* stateOf("batch_a"), { status: "in_progress" })
      yield* TestClock.adjust(3_000)
      yield* settle
      assert.deepInclude(yield* stateOf("batch_a"), { status: "completed", completed: 10 })
      assert.strictEqual(world.asked.length, asked + 4)
      assert.deepStrictEqual((yield* contentOf(fileIdOf("batch_a", "output"))).map((line) => line["custom_id"]), Array.from({ length: 10 }, (_, n) => `c-${n}`))
    }).pipe(Effect.provide(stores), Effect.scoped)
  }))

  it.effect("begins a batch of another key while one key has more than run at once, and hears of its cancellation", () => Effect.gen(function*() {
    const world = worldOf(() => Effect.never)
    yield* Effect.gen(function*() {
      for (let n = 0; n < 80; n++) yield* begin(`batch_${n}`, chats(1))
      yield* Layer.launch(layerOf(world)).pipe(Effect.forkScoped)
      yield* settle
      yield* begin("batch_other", chats(1), { ownerKeyId: "k2" }, { createdAt: 1_000 })
      yield* TestClock.adjust(1_000)
      yield* settle
      const store = yield* BatchStore
      assert.strictEqual((yield* stateOf("batch_other")).status, "in_progress")
      assert.strictEqual((yield* stateOf("batch_79")).status, "validating")
      // This one runs, and is no longer among the first.
      const record = (yield* store.find("batch_63", "all"))!
      assert.isTrue(yield* store.change({ ...record, state: { ...record.state, status: "cancelling", cancellingAt: 1_000 } }))
      yield* TestClock.adjust(15_000)
      yield* settle
      assert.strictEqual((yield* stateOf("batch_63")).status, "cancelled")
    }).pipe(Effect.provide(stores), Effect.scoped)
  }))

  it.effect("leaves its lines alone while its process stops", () => Effect.gen(function*() {
    const world = worldOf(() => Effect.sync(() => {
      world.serving = false
      return { _tag: "Stopping" }
    }))
    yield* Effect.gen(function*() {
      yield* begin("batch_a", chats(3))
      yield* Layer.launch(layerOf(world)).pipe(Effect.forkScoped)
      yield* settle
      yield* TestClock.adjust(60_000)
      yield* settle
      assert.deepInclude(yield* stateOf("batch_a"), { status: "in_progress", completed: 0, failed: 0 })
      assert.isAtMost(world.asked.length, 3)
    }).pipe(Effect.provide(stores), Effect.scoped)
  }))

  it.effect("fails a batch whose input was deleted, with the answers that it has", () => Effect.gen(function*() {
    const world = worldOf(() => Effect.as(Effect.sleep(1_000), ok))
    yield* Effect.gen(function*() {
      yield* begin("batch_gone", [], {}, {})
      yield* (yield* FileRecords).remove("file-batch_gone", "all")
      yield* (yield* FileStore).remove("file-batch_gone")
      yield* begin("batch_a", [...chats(2)], {}, { status: "in_progress", total: 5 })
      yield* Layer.launch(layerOf(world)).pipe(Effect.forkScoped)
      yield* settle
      yield* TestClock.adjust(1_000)
      yield* settle
      assert.deepInclude(yield* stateOf("batch_gone"), { status: "failed", outputFileId: null })
      const state = yield* stateOf("batch_a")
      assert.deepInclude(state, { status: "failed", completed: 2, outputFileId: fileIdOf("batch_a", "output") })
      assert.deepStrictEqual(state.problems.map(({ code }) => code), ["input_file_missing"])
    }).pipe(Effect.provide(stores), Effect.scoped)
  }))

  it.effect("refuses more lines than a batch may have", () => Effect.gen(function*() {
    yield* Effect.gen(function*() {
      yield* begin("batch_a", chats(11))
      yield* Layer.launch(layerOf(worldOf(), { mostLines: 10 })).pipe(Effect.forkScoped)
      yield* settle
      const state = yield* stateOf("batch_a")
      assert.deepStrictEqual([state.status, state.problems.map(({ code, line }) => [code, line])], ["failed", [["too_many_lines", 11]]])
      assert.strictEqual((yield* (yield* FileRecords).find("file-batch_a", "all"))?.status, "error")
    }).pipe(Effect.provide(stores), Effect.scoped)
  }))
})

describe("the end of a batch", () => {
  const typesOf = ({ told }: World) => told.map(({ body, id, type }) => [type, id, (JSON.parse(body) as { data: { id: string } }).data.id])

  it.effect("is told to webhooks once for each way to end", () => Effect.gen(function*() {
    const world = worldOf((request) => request.idempotencyKey.startsWith("batch_done") ? Effect.succeed(ok) : Effect.never)
    yield* Effect.gen(function*() {
      yield* begin("batch_done", chats(2))
      yield* begin("batch_broken", ["{"])
      yield* begin("batch_late", chats(1), {}, { expiresAt: 5_000 })
      yield* begin("batch_left", chats(1))
      yield* Layer.launch(layerOf(world)).pipe(Effect.forkScoped)
      yield* settle
      assert.deepStrictEqual(typesOf(world).sort(), [["batch.completed", "evt_batch_done", "batch_done"], ["batch.failed", "evt_batch_broken", "batch_broken"]])
      const data = (id: string) => (JSON.parse(world.told.find((event) => event.id === `evt_${id}`)!.body) as { data: object }).data
      assert.deepStrictEqual(data("batch_done"), {
        id: "batch_done", api_key_id: "k1", endpoint: "/v1/chat/completions", model: "m", requests_total: 2, requests_completed: 2, requests_failed: 0, input_file_id: "file-batch_done",
        output_file_id: fileIdOf("batch_done", "output"), error_file_id: null, error_message: null, event_id: "evt_batch_done"
      })
      assert.deepInclude(data("batch_broken"), { requests_total: 0, output_file_id: null, error_message: "Line 1: it is not a valid JSON object." })
      const store = yield* BatchStore
      const record = (yield* store.find("batch_left", "all"))!
      assert.isTrue(yield* store.change({ ...record, state: { ...record.state, status: "cancelling", cancellingAt: 0 } }))
      yield* TestClock.adjust(1_000)
      yield* settle
      yield* TestClock.adjust(60_000)
      yield* settle
      assert.deepStrictEqual(world.told.slice(2).map(({ id, type }) => [type, id]).sort(), [["batch.cancelled", "evt_batch_left"], ["batch.expired", "evt_batch_late"]])
    }).pipe(Effect.provide(stores), Effect.scoped)
  }))

  it.effect("is told later when it could not be told", () => Effect.gen(function*() {
    const world = worldOf()
    world.webhooksAway = true
    yield* Effect.gen(function*() {
      yield* begin("batch_a", chats(1))
      yield* Effect.gen(function*() {
        yield* Layer.launch(layerOf(world)).pipe(Effect.forkScoped)
        yield* settle
      }).pipe(Effect.scoped)
      assert.deepInclude(yield* stateOf("batch_a"), { status: "completed" })
      assert.deepStrictEqual(world.told, [])
      // Another process finds what was not told.
      const next = worldOf()
      yield* Layer.launch(layerOf(next)).pipe(Effect.forkScoped)
      yield* settle
      assert.deepStrictEqual(typesOf(next), [["batch.completed", "evt_batch_a", "batch_a"]])
      yield* TestClock.adjust(60_000)
      yield* settle
      assert.strictEqual(next.told.length, 1)
    }).pipe(Effect.provide(stores), Effect.scoped)
  }))
})

describe("the sweep of batches", () => {
  it.effect("removes those that are over and old, with BATCH_AND_FILE_AUTO_CLEANUP_ENABLED only", () => Effect.gen(function*() {
    let isOn = false
    const flags = Layer.succeed(Flags, { isOn: () => isOn, value: () => String(isOn), source: () => "db" })
    yield* Effect.gen(function*() {
      const store = yield* BatchStore
      yield* TestClock.adjust(40 * DAY_MS)
      yield* store.insert(batchRecord("old", {}, { createdAt: 5 * DAY_MS, status: "cancelled" }))
      yield* store.insert(batchRecord("new", {}, { createdAt: 15 * DAY_MS, status: "completed" }))
      yield* store.insert(batchRecord("runs", {}, { createdAt: 5 * DAY_MS, status: "in_progress" }))
      yield* Layer.launch(CleanUp.sweep(30).pipe(Layer.provide(LocalPlacement.layer), Layer.provide(flags))).pipe(Effect.forkScoped)
      const left = Effect.map(store.list("all", null, 10), (records) => records!.map(({ id }) => id).sort())
      yield* settle
      yield* TestClock.adjust(30_000)
      yield* settle
      assert.deepStrictEqual(yield* left, ["new", "old", "runs"])
      isOn = true
      yield* TestClock.adjust(3_600_000)
      yield* settle
      assert.deepStrictEqual(yield* left, ["new", "runs"])
    }).pipe(Effect.provide(stores), Effect.scoped)
  }))
})
