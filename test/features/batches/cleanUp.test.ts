/** The sweep of inputs over stores in memory, with a clock that stands still until it is moved. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { Flags } from "#actors/ports/Flags.ts"
import * as CleanUp from "#src/features/batches/cleanUp.ts"
import { BatchStore } from "#src/features/batches/ports/BatchStore.ts"
import { type FileRecord, FileRecords } from "#src/features/files/ports/FileRecords.ts"
import { FileStore } from "#src/features/files/ports/FileStore.ts"
import * as LocalPlacement from "#src/platform/cluster/LocalPlacement.ts"
import { batchRecord } from "#test/suites/records.ts"
import * as MemoryBatches from "#test/support/memoryBatches.ts"
import * as MemoryFiles from "#test/support/memoryFiles.ts"

const DAY_MS = 86_400_000

const upload = Effect.fnUntraced(function*(id: string, given: Partial<FileRecord>) {
  const written = yield* (yield* FileStore).write(id, Stream.make(Buffer.from("{}")))
  yield* (yield* FileRecords).insert({
    id, ownerKeyId: "k1", filename: "in.jsonl", purpose: "batch", contentType: "application/jsonl", ...written, status: "processed", statusDetails: null, createdAt: 0, expiresAt: null, ...given
  })
})

/** Lets everything run that does not wait for the clock. */
const settle = Effect.gen(function*() {
  for (let i = 0; i < 2_000; i++) yield* Effect.yieldNow
})

it.effect("removes inputs that no batch names two days after their upload, but none that was given a time", () => Effect.gen(function*() {
  let isOn = false
  const flags = Layer.succeed(Flags, { isOn: () => isOn, value: () => String(isOn), source: () => "db" })
  const [bytes, files, store] = [yield* FileStore, yield* FileRecords, yield* BatchStore]
  yield* TestClock.adjust(40 * DAY_MS)
  yield* store.insert(batchRecord("used", {}, { createdAt: 39 * DAY_MS, status: "in_progress" }))
  // More than the sweep looks at in one step.
  const names = Array.from({ length: 120 }, (_, i) => `file-waiting-${i}`)
  for (const name of names) yield* upload(name, { createdAt: 37 * DAY_MS })
  yield* upload("file-used", { createdAt: 36 * DAY_MS })
  yield* upload("file-timed", { createdAt: 36 * DAY_MS, expiresAt: 60 * DAY_MS })
  yield* upload("file-young", { createdAt: 39 * DAY_MS })
  yield* upload("file-other", { createdAt: 36 * DAY_MS, purpose: "assistants" })
  yield* Layer.launch(CleanUp.sweep(30).pipe(Layer.provide(LocalPlacement.layer), Layer.provide(flags))).pipe(Effect.forkScoped)
  const left = Effect.map(files.known([...names, "file-used", "file-timed", "file-young", "file-other"]), (known) => [...known].sort())
  yield* settle
  yield* TestClock.adjust(30_000)
  yield* settle
  assert.strictEqual((yield* left).length, 124)
  isOn = true
  yield* TestClock.adjust(3_600_000)
  yield* settle
  assert.deepStrictEqual(yield* left, ["file-other", "file-timed", "file-used", "file-young"])
  assert.strictEqual((yield* Stream.runCollect(bytes.list)).some(({ id }) => id.startsWith("file-waiting")), false)
}).pipe(Effect.provide(Layer.merge(MemoryBatches.layer, MemoryFiles.layer)), Effect.scoped))
