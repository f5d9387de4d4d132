import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import * as TestClock from "effect/testing/TestClock"
import * as JournaledLedger from "#src/platform/accounting/JournaledLedger.ts"
import * as Support from "./support.ts"

const { attemptStart, run, settledRow } = Support

describe("JournaledLedger at start", () => {
  it.effect("rows that were settled but not stored are delivered, starts without settle become one crashed row", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      store.mood = "down"
      const first = yield* run(store, { directory })
      const [a, b] = [attemptStart("a"), attemptStart("b")]
      yield* Support.open(first.ledger, a)
      yield* Support.open(first.ledger, b)
      first.ledger.settle(settledRow(a))
      yield* first.stop
      assert.strictEqual(store.rows.size, 0)
      store.mood = "up"
      const second = yield* run(store, { directory })
      yield* Support.passing(second.ledger.flush(Support.PATIENCE_MS))
      assert.deepStrictEqual(store.rows.get("a"), settledRow(a))
      assert.deepInclude(store.rows.get("b"), { outcome: "crashed", status: 0, upstreamStatus: 0, estimated: true, tokensIn: 0, tokensOut: 0, costUsd: 0, nodeId: "node-1" })
      assert.deepInclude(second.ledger.reconciliation(), { started: 2, settled: 2, stored: 2, journaled: 0, gap: 0 })
      yield* second.stop
      assert.deepStrictEqual(Support.files(directory, /./), [])
    }))

  it.effect("an acknowledged row is not sent again", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      const first = yield* run(store, { directory })
      const [a, b] = [attemptStart("a"), attemptStart("b")]
      yield* Support.open(first.ledger, a)
      yield* Support.open(first.ledger, b)
      first.ledger.settle(settledRow(a))
      yield* first.ledger.flush(1000)
      yield* first.stop
      store.rows.clear()
      const second = yield* run(store, { directory })
      yield* Support.passing(second.ledger.flush(Support.PATIENCE_MS))
      assert.deepStrictEqual([...store.rows.keys()], ["b"])
      yield* second.stop
    }))

  it.effect("it starts and accepts while the store is away, and replays when it comes", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      store.mood = "down"
      const first = yield* run(store, { directory })
      yield* Support.open(first.ledger, attemptStart("a"))
      yield* first.stop
      const second = yield* run(store, { directory })
      assert.isNull(yield* Support.open(second.ledger, attemptStart("b")))
      second.ledger.settle(settledRow(attemptStart("b")))
      yield* Support.until(() => second.ledger.reconciliation().started === 2)
      yield* TestClock.adjust("1 minute")
      assert.deepInclude(second.ledger.reconciliation(), { started: 2, settled: 2, journaled: 2, live: 0, gap: 0 })
      store.mood = "up"
      yield* Support.until(() => store.rows.size === 2)
      yield* second.stop
    }))

  it.effect("two ledgers of one directory do not touch each other's segments, and one takes what the other leaves", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      store.mood = "down"
      const first = yield* run(store, { directory })
      const second = yield* run(store, { directory })
      yield* Support.open(first.ledger, attemptStart("a"))
      yield* Support.open(second.ledger, attemptStart("b"))
      yield* first.stop
      assert.strictEqual(second.ledger.reconciliation().started, 1)
      store.mood = "up"
      yield* TestClock.adjust(JournaledLedger.SWEEP_MS)
      yield* Support.passing(second.ledger.flush(Support.PATIENCE_MS))
      assert.deepStrictEqual([...store.rows.keys()], ["a"])
      assert.strictEqual(second.ledger.reconciliation().live, 1)
      yield* second.stop
    }))

  it.effect("a damaged record is passed over, its neighbours arrive, and the file is kept", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      store.mood = "down"
      const first = yield* run(store, { directory })
      for (const id of ["a", "b", "c"]) {
        yield* Support.open(first.ledger, attemptStart(id))
        first.ledger.settle(settledRow(attemptStart(id), { errorCode: `mark-${id}` }))
        yield* Support.turn
      }
      yield* first.stop
      const segment = path.join(directory, Support.files(directory, /\.log$/)[0]!)
      const bytes = fs.readFileSync(segment)
      bytes[bytes.indexOf("mark-b")]! ^= 1
      fs.writeFileSync(segment, bytes)
      store.mood = "up"
      const second = yield* run(store, { directory })
      yield* Support.passing(second.ledger.flush(Support.PATIENCE_MS))
      assert.strictEqual(store.rows.get("a")?.outcome, "completed")
      assert.strictEqual(store.rows.get("b")?.outcome, "crashed")
      assert.strictEqual(store.rows.get("c")?.outcome, "completed")
      assert.strictEqual(Support.files(directory, /\.damaged$/).length, 1)
      yield* second.stop
      const third = yield* run(store, { directory })
      assert.strictEqual(third.ledger.reconciliation().started, 0)
      yield* third.stop
    }))

  it.effect("a damaged start costs its own row only, which is named, and the file is kept", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      store.mood = "down"
      const first = yield* run(store, { directory })
      for (const id of ["a", "b", "c"]) {
        const start = attemptStart(id, { sessionTag: `mark-${id}` })
        yield* Support.open(first.ledger, start)
        first.ledger.settle(settledRow(start))
        yield* Support.turn
      }
      yield* first.stop
      const segment = path.join(directory, Support.files(directory, /\.log$/)[0]!)
      const bytes = fs.readFileSync(segment)
      bytes[bytes.indexOf("mark-b")]! ^= 1
      fs.writeFileSync(segment, bytes)
      store.mood = "up"
      const logged: Array<string> = []
      const logger = Logger.make<unknown, void>(({ fiber, message }) => {
        logged.push(`${String(message)} ${JSON.stringify(fiber.getRef(References.CurrentLogAnnotations))}`)
      })
      const second = yield* run(store, { directory }).pipe(Effect.provide(Logger.layer([logger])))
      yield* Support.passing(second.ledger.flush(Support.PATIENCE_MS))
      assert.deepStrictEqual([...store.rows.keys()], ["a", "c"])
      assert.strictEqual(store.rows.get("c")?.sessionTag, "mark-c")
      assert.isTrue(logged.some((line) => line.includes("a settled row is lost") && line.includes('"ordinal":2')))
      assert.strictEqual(Support.files(directory, /\.damaged$/).length, 1)
      yield* second.stop
    }))

  it.effect("rows whose start is in an older segment are replayed, and a segment can be read without the older ones", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      store.mood = "down"
      const first = yield* run(store, { directory, segmentBytes: 2000 })
      const old = Array.from({ length: 5 }, (_, i) => attemptStart(`old-${i}`, { model: `model-${i}` }))
      for (const start of old) yield* Support.open(first.ledger, start)
      for (let i = 0; i < 60; i++) {
        const start = attemptStart(`a${i}`, { apiKeyId: `key-${i % 3}` })
        yield* Support.open(first.ledger, start)
        first.ledger.settle(settledRow(start))
      }
      yield* Support.turn
      for (const start of old.slice(0, 4)) first.ledger.settle(settledRow(start, { tokensIn: 77 }))
      yield* Support.turn
      const copies = yield* Support.temporaryDirectory
      const segments = Support.files(directory, /\.log$/)
      assert.isAbove(segments.length, 3)
      for (const name of segments) fs.copyFileSync(path.join(directory, name), path.join(copies, name))
      const newest = yield* Support.temporaryDirectory
      fs.copyFileSync(path.join(directory, segments.at(-1)!), path.join(newest, segments.at(-1)!))
      yield* first.stop
      store.mood = "up"
      const second = yield* run(store, { directory: copies })
      yield* Support.passing(second.ledger.flush(Support.PATIENCE_MS))
      assert.strictEqual(store.rows.size, 65)
      for (const start of old.slice(0, 4)) assert.deepStrictEqual(store.rows.get(start.attemptId), settledRow(start, { tokensIn: 77 }))
      assert.deepInclude(store.rows.get("old-4"), { outcome: "crashed", model: "model-4" })
      yield* second.stop
      assert.deepStrictEqual(Support.files(copies, /./), [])
      const alone = new Support.ScriptedStore()
      const third = yield* run(alone, { directory: newest })
      yield* Support.passing(third.ledger.flush(Support.PATIENCE_MS))
      for (const start of old.slice(0, 4)) assert.deepStrictEqual(alone.rows.get(start.attemptId), settledRow(start, { tokensIn: 77 }))
      yield* third.stop
    }))

  it.effect("a segment of another format is set aside unread, and the rest is replayed", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      store.mood = "down"
      const first = yield* run(store, { directory })
      yield* Support.open(first.ledger, attemptStart("a"))
      yield* first.stop
      const foreign = Buffer.from([0xa7, 5, 0, 0, 1, 2, 3, 4, 0x95, 0, 1, 2, 3])
      fs.writeFileSync(path.join(directory, "node-1.0123456789ab-00000001.log"), foreign)
      store.mood = "up"
      const second = yield* run(store, { directory })
      yield* Support.passing(second.ledger.flush(Support.PATIENCE_MS))
      assert.deepStrictEqual([...store.rows.keys()], ["a"])
      const kept = Support.files(directory, /\.foreign$/)
      assert.strictEqual(kept.length, 1)
      assert.deepStrictEqual(fs.readFileSync(path.join(directory, kept[0]!)), foreign)
      yield* second.stop
    }))

  it.effect("a segment that the file system refuses is named once a look, and does not hold up the journals of others", () => {
    const lines: Array<string> = []
    return Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      store.mood = "down"
      const first = yield* run(store, { directory })
      yield* Support.open(first.ledger, attemptStart("a"))
      yield* first.stop
      const refused = path.join(directory, "node-0.0123456789ab-00000001.log")
      fs.mkdirSync(refused)
      store.mood = "up"
      const second = yield* run(store, { directory })
      yield* Support.passing(second.ledger.flush(Support.PATIENCE_MS))
      assert.deepStrictEqual([...store.rows.keys()], ["a"])
      const told = lines.filter((line) => line.includes(refused))
      assert.strictEqual(told.length, 1, lines.join("\n"))
      assert.notInclude(told[0], "defect")
      assert.notInclude(told[0], " at ")
      fs.rmSync(refused, { recursive: true })
      yield* second.stop
    }).pipe(Effect.provide(Logger.layer([Logger.make<unknown, void>(({ fiber, message }) =>
      void lines.push(JSON.stringify([message, fiber.getRef(References.CurrentLogAnnotations)])))])))
  })

  it.effect("a write that was torn at any byte costs only the torn record", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      store.mood = "down"
      const first = yield* run(store, { directory })
      yield* Support.open(first.ledger, attemptStart("a"))
      yield* Support.open(first.ledger, attemptStart("b"))
      const segment = path.join(directory, Support.files(directory, /\.log$/)[0]!)
      const before = fs.statSync(segment).size
      first.ledger.settle(settledRow(attemptStart("a")))
      yield* Support.turn
      const whole = fs.readFileSync(segment)
      yield* first.stop
      for (let length = before; length <= whole.length; length++) {
        const copy = yield* Support.temporaryDirectory
        fs.writeFileSync(path.join(copy, path.basename(segment)), whole.subarray(0, length))
        const fresh = new Support.ScriptedStore()
        const again = yield* run(fresh, { directory: copy })
        assert.strictEqual(yield* Support.passing(again.ledger.flush(Support.PATIENCE_MS)), 0)
        assert.strictEqual(fresh.rows.get("a")?.outcome, length === whole.length ? "completed" : "crashed")
        assert.strictEqual(fresh.rows.get("b")?.outcome, "crashed")
        assert.strictEqual(fresh.rows.size, 2)
        yield* again.stop
        assert.deepStrictEqual(Support.files(copy, /./), [])
      }
    }))
})
