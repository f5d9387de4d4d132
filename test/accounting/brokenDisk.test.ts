import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import * as JournaledLedger from "#src/platform/accounting/JournaledLedger.ts"
import * as Support from "./support.ts"

const { attemptStart, Disk, run, settledRow } = Support

describe("JournaledLedger on a broken disk", () => {
  it.effect("a full disk refuses new attempts, keeps settled rows and heals by itself", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      store.mood = "down"
      const disk = new Disk()
      const { ledger, stop } = yield* run(store, { directory, fs: disk.fs })
      const first = attemptStart("a1")
      yield* Support.open(ledger, first)
      disk.full = true
      const refused = yield* Support.open(ledger, attemptStart("refused"))
      assert.include(refused?.message, "ENOSPC")
      ledger.settle(settledRow(first))
      yield* Support.turn
      assert.deepInclude(ledger.reconciliation(), { started: 1, settled: 1, live: 0, gap: 0, journaled: 1 })
      disk.full = false
      yield* TestClock.adjust(JournaledLedger.TICK_MS)
      assert.isNull(yield* Support.open(ledger, attemptStart("a2")))
      yield* stop
      const again = yield* run(store, { directory })
      store.mood = "up"
      yield* Support.passing(again.ledger.flush(Support.PATIENCE_MS))
      assert.deepStrictEqual([...store.rows.keys()].sort(), ["a1", "a2"])
      assert.strictEqual(store.rows.get("a1")?.outcome, "completed")
      yield* again.stop
    }))

  it.effect("what a refused write had brought along is written again", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      store.mood = "down"
      const disk = new Disk()
      const { ledger, stop } = yield* run(store, { directory, fs: disk.fs })
      const early = attemptStart("early")
      yield* Support.open(ledger, early)
      disk.full = true
      assert.isNotNull(yield* Support.open(ledger, attemptStart("refused", { model: "new" })))
      disk.full = false
      const late = attemptStart("late", { model: "new" })
      assert.isNull(yield* Support.open(ledger, late))
      ledger.settle(settledRow(late))
      yield* Support.turn
      yield* stop
      const again = yield* run(store, { directory })
      store.mood = "up"
      yield* Support.passing(again.ledger.flush(Support.PATIENCE_MS))
      assert.deepStrictEqual([...store.rows.keys()].sort(), ["early", "late"])
      assert.deepStrictEqual(store.rows.get("late"), settledRow(late))
      yield* again.stop
    }))

  it.effect("a settle that was refused in a newer segment than its start brings the start along again", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      store.mood = "down"
      const disk = new Disk()
      const { ledger, stop } = yield* run(store, { directory, fs: disk.fs, segmentBytes: 1000 })
      const old = attemptStart("old")
      yield* Support.open(ledger, old)
      while (Support.files(directory, /\.log$/).length < 2) yield* Support.open(ledger, attemptStart(`filler-${performance.now()}`))
      disk.full = true
      ledger.settle(settledRow(old))
      yield* Support.turn
      disk.full = false
      yield* TestClock.adjust(JournaledLedger.TICK_MS)
      const copies = yield* Support.temporaryDirectory
      const newest = Support.files(directory, /\.log$/).at(-1)!
      fs.copyFileSync(path.join(directory, newest), path.join(copies, newest))
      yield* stop
      const again = yield* run(store, { directory: copies })
      store.mood = "up"
      yield* Support.passing(again.ledger.flush(Support.PATIENCE_MS))
      assert.deepStrictEqual(store.rows.get("old"), settledRow(old))
      yield* again.stop
    }))

  it.effect("a settled row that the disk refuses reaches the store from memory", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      const disk = new Disk()
      const { ledger, stop } = yield* run(store, { directory, fs: disk.fs })
      const start = attemptStart("a1")
      yield* Support.open(ledger, start)
      disk.full = true
      ledger.settle(settledRow(start))
      yield* Support.turn
      yield* TestClock.adjust("1 second")
      assert.strictEqual(store.rows.get("a1")?.outcome, "completed")
      disk.full = false
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(store.batches, [1])
      yield* stop
    }))

  for (const truncates of [true, false]) {
    it.effect(`a write that stops half way leaves no trace${truncates ? "" : ", even when the file cannot be cut"}`, () =>
      Effect.gen(function*() {
        const directory = yield* Support.temporaryDirectory
        const store = new Support.ScriptedStore()
        const disk = new Disk()
        disk.truncates = truncates
        const { ledger, stop } = yield* run(store, { directory, fs: disk.fs })
        yield* Support.open(ledger, attemptStart("a1"))
        disk.full = true
        disk.room = 57
        assert.isNotNull(yield* Support.open(ledger, attemptStart("torn")))
        disk.full = false
        yield* Support.open(ledger, attemptStart("a2"))
        yield* stop
        const again = yield* run(store, { directory })
        yield* Support.passing(again.ledger.flush(Support.PATIENCE_MS))
        assert.deepStrictEqual([...store.rows.keys()].sort(), ["a1", "a2"])
        yield* again.stop
      }))
  }

  it.effect("a refused start that was written whole before the disk was full is cut away", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      const disk = new Disk()
      const { ledger, stop } = yield* run(store, { directory, fs: disk.fs })
      yield* Support.open(ledger, attemptStart("a1"))
      disk.full = true
      disk.room = 150
      const refused = yield* Effect.forEach(["b1", "b2", "b3"], (id) => Support.open(ledger, attemptStart(id)), { concurrency: "unbounded" })
      assert.isTrue(refused.every((error) => error !== null))
      yield* stop
      const again = yield* run(store, { directory })
      yield* Support.passing(again.ledger.flush(Support.PATIENCE_MS))
      assert.deepStrictEqual([...store.rows.keys()], ["a1"])
      yield* again.stop
    }))

  it.effect("a data directory that cannot be created refuses requests instead of failing the start", () =>
    Effect.gen(function*() {
      const parent = yield* Support.temporaryDirectory
      const directory = path.join(parent, "file", "journal")
      fs.writeFileSync(path.join(parent, "file"), "")
      const { ledger, stop } = yield* run(new Support.ScriptedStore(), { directory })
      assert.strictEqual((yield* Support.open(ledger, attemptStart("a1")))?._tag, "LedgerUnavailable")
      fs.rmSync(path.join(parent, "file"))
      assert.isNull(yield* Support.open(ledger, attemptStart("a1")))
      yield* stop
    }))
})
