/** A batch of very many lines: its input is read as it is needed, and never held. */
import * as v8 from "node:v8"
import * as vm from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Webhooks } from "#actors/webhook/ports/Webhooks.ts"
import { BatchStore } from "#src/features/batches/ports/BatchStore.ts"
import { withResults } from "#src/features/batches/results.ts"
import * as BatchRunner from "#src/features/batches/run/BatchRunner.ts"
import { FileRecords } from "#src/features/files/ports/FileRecords.ts"
import { FileStore } from "#src/features/files/ports/FileStore.ts"
import * as LocalPlacement from "#src/platform/cluster/LocalPlacement.ts"
import * as MemoryBatches from "#test/support/memoryBatches.ts"
import * as MemoryFiles from "#test/support/memoryFiles.ts"
import { batchRecord } from "#test/suites/records.ts"
import { callsOf, chatLine } from "./support.ts"

const LINES = 100_000
/** Lines of one chunk that the store hands over. */
const CHUNK = 32
const filler = "x".repeat(2_000)
const chunkAt = (n: number): Buffer => Buffer.from(Array.from({ length: CHUNK }, (_, k) => `${chatLine(`c-${n * CHUNK + k}`, "m", { filler })}\n`).join(""))
const BYTES = Array.from({ length: LINES / CHUNK }, (_, n) => chunkAt(n).length).reduce((sum, one) => sum + one, 0)
/** Memory that may be held meanwhile beside what was before, bytes: a small part of the input. */
const MOST_MORE = 40 * 1024 * 1024

v8.setFlagsFromString("--expose-gc")
const collect = vm.runInNewContext("gc") as () => void

/** What is in use, and no garbage. */
const used = (): number => {
  collect()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return arrayBuffers + heapUsed
}

describe("a batch of 100,000 lines", () => {
  it.live("is validated and run while few of its lines are in memory", () => Effect.gen(function*() {
    assert.isAbove(BYTES, 200 * 1024 * 1024)
    let read = 0
    let answered = 0
    let furthest = 0
    const samples: Array<number> = []
    const over = yield* Deferred.make<void>()
    const input = Stream.suspend(() => {
      read = 0
      return Stream.map(Stream.rechunk(Stream.range(0, LINES / CHUNK - 1), 1), (n) => {
        read += CHUNK
        if (answered > 0) furthest = Math.max(furthest, read - answered)
        return chunkAt(n)
      })
    })
    const files = Layer.merge(
      MemoryFiles.layer,
      Layer.succeed(FileStore, { ...MemoryFiles.store(), read: () => input })
    )
    // The answers are the database's to hold: this one counts them.
    let record = batchRecord("large", { inputFileId: "file-large" }, { createdAt: Date.now(), expiresAt: Date.now() + 86_400_000 })
    const stores = Layer.effect(BatchStore, Effect.map(BatchStore, (store) => BatchStore.of({
      ...store,
      open: () => Effect.sync(() => [record]),
      find: () => Effect.sync(() => record),
      change: (next) => Effect.sync(() => {
        record = { ...next, version: next.version + 1 }
        return true
      }),
      finish: (_, results, now) => Effect.suspend(() => {
        record = withResults(record, results, now)
        return Effect.as(record.state.status === "finalizing" ? Deferred.succeed(over, undefined) : Effect.void, record)
      })
    }))).pipe(Layer.provide(MemoryBatches.layer))
    const reply = { _tag: "Answered", answer: { status: 200, requestId: "r", body: Buffer.from("{}") } } as const
    const calls = callsOf(() => Effect.sync(() => {
      if (++answered % 10_000 === 0) samples.push(used())
      return reply
    }))
    const webhooks = Layer.succeed(Webhooks, { wants: () => false, append: () => Effect.void, refresh: Effect.void, test: () => Effect.die("not asked"), replay: () => Effect.die("not asked") })
    yield* Effect.gen(function*() {
      yield* (yield* FileRecords).insert({
        id: "file-large", ownerKeyId: "k1", filename: "in.jsonl", purpose: "batch", contentType: "application/jsonl", bytes: BYTES, sha256: "", status: "processed", statusDetails: null,
        createdAt: 0, expiresAt: null
      })
      const before = used()
      yield* Layer.launch(BatchRunner.layer({ concurrency: 8, mostLines: LINES, pollMs: 60_000 }).pipe(Layer.provide(calls), Layer.provide(LocalPlacement.layer), Layer.provide(webhooks))).pipe(Effect.forkScoped)
      yield* Deferred.await(over)
      const { completed, total } = record.state
      assert.deepStrictEqual([total, completed, answered], [LINES, LINES, LINES])
      assert.isAbove(furthest, 0)
      assert.isAtMost(furthest, 4 * CHUNK)
      // Garbage comes and goes; what is held stays in each of the later samples.
      const held = Math.min(...samples.slice(samples.length / 2)) - before
      console.log(`100,000 lines of ${Math.round(BYTES / 1e6)} MB: ${furthest} lines read ahead, ${Math.round(held / 1e6)} MB held`)
      assert.isAtMost(held, MOST_MORE)
    }).pipe(Effect.provide(Layer.merge(stores, files)), Effect.scoped)
  }), 300_000)
})
