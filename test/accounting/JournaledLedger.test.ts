import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import { vi } from "vitest"
import * as TestClock from "effect/testing/TestClock"
import * as Journal from "#src/platform/accounting/journal/Journal.ts"
import * as JournalRecord from "#src/platform/accounting/journal/JournalRecord.ts"
import * as JournaledLedger from "#src/platform/accounting/JournaledLedger.ts"
import * as Support from "./support.ts"

const { attemptStart, run, settledRow } = Support

describe("JournaledLedger", () => {
  it.effect("a settled attempt is in the store within a quarter of a second, once", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      const { ledger, stop } = yield* run(store, { directory })
      const start = attemptStart("a1")
      assert.isNull(yield* Support.open(ledger, start))
      assert.deepInclude(ledger.reconciliation(), { started: 1, settled: 0, live: 1, gap: 0, stored: 0 })
      ledger.settle(settledRow(start))
      yield* Support.turn
      assert.strictEqual(store.rows.size, 0)
      yield* TestClock.adjust(JournaledLedger.BATCH_MS)
      assert.deepStrictEqual(store.rows.get("a1"), settledRow(start))
      assert.deepInclude(ledger.reconciliation(), { started: 1, settled: 1, live: 0, gap: 0, journaled: 0, stored: 1, lastError: null })
      yield* stop
      assert.deepStrictEqual(Support.files(directory, /./), [])
      assert.strictEqual(store.inserts, 1)
    }))

  it.effect("what has held a batch holds none of its rows once they are stored, but all of them while they are not", () =>
    Effect.gen(function*() {
      const store = new Support.ScriptedStore()
      const lists = vi.spyOn(store.service, "insert")
      const { ledger, stop } = yield* run(store, { directory: yield* Support.temporaryDirectory })
      store.mood = "down"
      for (const id of ["a1", "a2"]) {
        const start = attemptStart(id)
        yield* Support.open(ledger, start)
        ledger.settle(settledRow(start))
      }
      yield* Support.turn
      yield* TestClock.adjust(JournaledLedger.BATCH_MS)
      assert.deepStrictEqual(lists.mock.calls.map(([rows]) => rows.map((row) => row.attemptId)), [["a1", "a2"]])
      store.mood = "up"
      assert.strictEqual(yield* Support.passing(ledger.flush(Support.PATIENCE_MS)), 0)
      assert.deepStrictEqual([...store.rows.keys()], ["a1", "a2"])
      assert.deepStrictEqual(lists.mock.calls.flatMap(([rows]) => rows), [])
      yield* stop
    }))

  it.effect("while rows keep coming the store is asked once a second, and the first after a pause does not wait longer", () =>
    Effect.gen(function*() {
      const store = new Support.ScriptedStore()
      const { ledger, stop } = yield* run(store, { directory: yield* Support.temporaryDirectory })
      const settle = Effect.fnUntraced(function*(id: string) {
        const start = attemptStart(id)
        yield* Support.open(ledger, start)
        ledger.settle(settledRow(start))
        yield* Support.turn
      })
      yield* settle("a1")
      yield* TestClock.adjust(JournaledLedger.BATCH_MS)
      assert.strictEqual(store.inserts, 1)
      for (let quarter = 1; quarter < 4; quarter++) {
        yield* settle(`b${quarter}`)
        yield* TestClock.adjust(JournaledLedger.BATCH_MS)
        assert.strictEqual(store.inserts, 1)
      }
      yield* TestClock.adjust(JournaledLedger.BATCH_MS)
      assert.deepStrictEqual([store.inserts, store.rows.size], [2, 4])
      yield* TestClock.adjust(JournaledLedger.SPACING_MS)
      yield* settle("c1")
      yield* TestClock.adjust(JournaledLedger.BATCH_MS)
      assert.deepStrictEqual([store.inserts, store.rows.size], [3, 5])
      yield* stop
    }))

  it.effect("the start record is on disk before go is called", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const { ledger, stop } = yield* run(new Support.ScriptedStore(), { directory })
      let seen = ""
      yield* Effect.callback<void>((resume) => {
        ledger.open(attemptStart("needle"), {
          go: () => {
            seen = Support.files(directory, /\.log$/).map((name) => fs.readFileSync(path.join(directory, name), "latin1")).join("")
            resume(Effect.void)
          }
        })
        assert.strictEqual(seen, "")
      })
      assert.include(seen, "needle")
      yield* stop
    }))

  it.effect("attempts of one turn share one write", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      let writes = 0
      const { ledger, stop } = yield* run(new Support.ScriptedStore(), {
        directory,
        fs: { ...Journal.nodeJournalFs, write: (...args) => (writes++, Journal.nodeJournalFs.write(...args)) }
      })
      let answered = 0
      for (let i = 0; i < 500; i++) ledger.open(attemptStart(`a${i}`), { go: () => void answered++ })
      yield* Support.turn
      assert.strictEqual(answered, 500)
      assert.strictEqual(writes, 1)
      yield* stop
    }))

  it.effect("journal writes what is queued at once, but never into the middle of a write", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      let writes = 0
      const { ledger, stop } = yield* run(new Support.ScriptedStore(), {
        directory,
        fs: { ...Journal.nodeJournalFs, write: (...args) => (writes++, Journal.nodeJournalFs.write(...args)) }
      })
      const starts = ["a1", "a2", "a3"].map((id) => attemptStart(id))
      for (const start of starts) {
        ledger.open(start, {
          go: () => {
            ledger.settle(settledRow(start))
            ledger.journal()
          }
        })
      }
      assert.strictEqual(writes, 0)
      ledger.journal()
      assert.strictEqual(writes, 1)
      assert.deepInclude(ledger.reconciliation(), { started: 3, settled: 3, live: 0 })
      ledger.journal()
      assert.strictEqual(writes, 2)
      ledger.journal()
      yield* Support.turn
      assert.strictEqual(writes, 2)
      assert.strictEqual(yield* ledger.flush(10_000), 0)
      yield* stop
    }))

  it.effect("a batch holds at most a thousand rows and a full one does not wait", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      const { ledger, stop } = yield* run(store, { directory })
      const starts = Array.from({ length: 2500 }, (_, i) => attemptStart(`a${i}`))
      yield* Effect.forEach(starts, (start) => Support.open(ledger, start), { concurrency: "unbounded", discard: true })
      for (const start of starts) ledger.settle(settledRow(start))
      assert.strictEqual(yield* ledger.flush(10_000), 0)
      assert.deepStrictEqual(store.batches, [1000, 1000, 500])
      yield* stop
    }))

  it.effect("a second settle and a settle without open are ignored", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      const { ledger, stop } = yield* run(store, { directory })
      const start = attemptStart("a1")
      yield* Support.open(ledger, start)
      ledger.settle(settledRow(start))
      ledger.settle(settledRow(start, { tokensIn: 999 }))
      ledger.settle(settledRow(attemptStart("never-opened")))
      yield* ledger.flush(1000)
      assert.deepStrictEqual([...store.rows.values()], [settledRow(start)])
      assert.deepInclude(ledger.reconciliation(), { started: 1, settled: 1, gap: 0 })
      yield* stop
    }))

  it.effect("a second open of a running attempt is refused", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const { ledger, stop } = yield* run(new Support.ScriptedStore(), { directory })
      yield* Support.open(ledger, attemptStart("a1"))
      assert.strictEqual((yield* Support.open(ledger, attemptStart("a1")))?._tag, "LedgerUnavailable")
      assert.deepInclude(ledger.reconciliation(), { started: 1, live: 1, gap: 0 })
      yield* stop
    }))

  for (const mood of ["down", "frozen", "dying"] as const) {
    it.effect(`a store that is ${mood} loses nothing and never delays the hot path`, () =>
      Effect.gen(function*() {
        const directory = yield* Support.temporaryDirectory
        const store = new Support.ScriptedStore()
        store.mood = mood
        const { ledger, stop } = yield* run(store, { directory })
        const start = attemptStart("a1")
        assert.isNull(yield* Support.open(ledger, start))
        ledger.settle(settledRow(start))
        yield* Support.turn
        yield* TestClock.adjust("2 minutes")
        assert.isNull(yield* Support.open(ledger, attemptStart("a2")))
        assert.strictEqual(store.rows.size, 0)
        const waiting = ledger.reconciliation()
        assert.deepInclude(waiting, { started: 2, settled: 1, journaled: 1, live: 1, gap: 0 })
        assert.isNotNull(waiting.lastError)
        store.mood = "up"
        yield* TestClock.adjust("2 minutes")
        assert.strictEqual(store.rows.size, 1)
        assert.deepInclude(ledger.reconciliation(), { journaled: 0, stored: 1, lastError: null })
        yield* stop
      }))
  }

  it.effect("retries are spaced by a capped backoff", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      store.mood = "down"
      const { ledger, stop } = yield* run(store, { directory })
      const start = attemptStart("a1")
      yield* Support.open(ledger, start)
      ledger.settle(settledRow(start))
      yield* Support.turn
      yield* TestClock.adjust("3 seconds")
      assert.isAtLeast(store.inserts, 3, "the first pauses are short")
      assert.isAtMost(store.inserts, 6)
      yield* TestClock.adjust("10 minutes")
      assert.isAtLeast(store.inserts, 45)
      assert.isAtMost(store.inserts, 90)
      yield* stop
    }))

  it.effect("beyond the window rows wait on disk only, and all arrive in order when the store returns", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      store.mood = "down"
      const { ledger, stop } = yield* run(store, { directory, windowRows: 50, segmentBytes: 10_000 })
      for (let i = 0; i < 1000; i++) {
        const start = attemptStart(`a${i}`)
        yield* Support.open(ledger, start)
        ledger.settle(settledRow(start, { tokensIn: i }))
      }
      yield* Support.turn
      assert.isAbove(Support.files(directory, /\.log$/).length, 10)
      store.mood = "up"
      assert.strictEqual(yield* Support.passing(ledger.flush(Support.PATIENCE_MS)), 0)
      assert.strictEqual(store.rows.size, 1000)
      assert.deepStrictEqual([...store.rows.values()].map((row) => row.tokensIn), Array.from({ length: 1000 }, (_, i) => i))
      assert.deepInclude(ledger.reconciliation(), { journaled: 0, stored: 1000, gap: 0 })
      yield* Support.until(() => Support.files(directory, /\.log$/).length === 1)
      yield* stop
    }))

  it.effect("rows read back from disk keep what belongs to them, whichever segment their start is in", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      store.mood = "down"
      const { ledger, stop } = yield* run(store, { directory, windowRows: 20, segmentBytes: 6000 })
      const starts = Array.from({ length: 400 }, (_, i) =>
        attemptStart(`a${i}`, { model: `model-${i % 5}`, apiKeyId: `key-${i % 3}`, sessionTag: `session-${i}` }))
      const row = (i: number) => settledRow(starts[i]!, { tokensIn: i, errorCode: i % 2 === 0 ? null : `code-${i}` })
      // Every third settles half a journal later.
      const late: Array<number> = []
      for (let i = 0; i < starts.length; i++) {
        yield* Support.open(ledger, starts[i]!)
        if (i % 3 === 0) late.push(i)
        else ledger.settle(row(i))
        if (late.length > 60) ledger.settle(row(late.shift()!))
      }
      for (const i of late) ledger.settle(row(i))
      yield* Support.turn
      store.mood = "up"
      assert.strictEqual(yield* Support.passing(ledger.flush(Support.PATIENCE_MS)), 0)
      assert.strictEqual(store.rows.size, starts.length)
      for (let i = 0; i < starts.length; i++) assert.deepStrictEqual(store.rows.get(`a${i}`), row(i))
      assert.isAtMost(Math.max(...store.batches), 20)
      yield* stop
    }))

  it.effect("a backlog of 20000 rows is read back and handed out in small turns", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      store.mood = "down"
      const { ledger, stop } = yield* run(store, { directory, segmentBytes: 1_000_000 })
      const starts = Array.from({ length: 20_000 }, (_, i) => attemptStart(`a${i}`))
      yield* Effect.callback<void>((resume) => {
        let opened = 0
        for (const start of starts) ledger.open(start, { go: () => void (++opened === starts.length && resume(Effect.void)) })
      })
      for (const start of starts) ledger.settle(settledRow(start))
      yield* Support.turn
      const decode = vi.spyOn(JournalRecord.Decoder.prototype, "read")
      let most = 0
      let inserted = 0
      const sample = (): void => {
        most = Math.max(most, decode.mock.calls.length, store.rows.size - inserted)
        inserted = store.rows.size
        decode.mockClear()
        if (inserted < starts.length) setImmediate(sample)
      }
      sample()
      store.mood = "up"
      yield* Support.passing(ledger.flush(Support.PATIENCE_MS))
      decode.mockRestore()
      assert.strictEqual(store.rows.size, starts.length)
      assert.isAbove(most, 0)
      // Two reads may end in one turn.
      assert.isAtMost(most, 3000)
      yield* stop
    }))

  it.effect("one long stream does not pin old segments, and its start survives the move", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      const { ledger, stop } = yield* run(store, { directory, segmentBytes: 5000 })
      yield* Support.open(ledger, attemptStart("long"))
      for (let i = 0; i < 300; i++) {
        const start = attemptStart(`a${i}`)
        yield* Support.open(ledger, start)
        ledger.settle(settledRow(start))
        if (i % 20 === 0) yield* TestClock.adjust("2 seconds")
      }
      yield* Support.until(() => Support.files(directory, /\.log$/).length <= 6)
      yield* stop
      const second = yield* run(store, { directory })
      yield* Support.passing(second.ledger.flush(Support.PATIENCE_MS))
      assert.strictEqual(store.rows.get("long")?.outcome, "crashed")
      assert.strictEqual(store.rows.size, 301)
      yield* second.stop
    }))

  it.effect("a row that the store refuses for its content is set aside and stops nobody else", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      store.refuse = (row) => row.attemptId === "a13"
      const { ledger, stop } = yield* run(store, { directory })
      for (let i = 0; i < 40; i++) {
        const start = attemptStart(`a${i}`)
        yield* Support.open(ledger, start)
        ledger.settle(settledRow(start))
      }
      yield* Support.turn
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(store.rows.size, 39)
      assert.include(fs.readFileSync(path.join(directory, "rejected.jsonl"), "utf8"), "a13")
      assert.strictEqual(ledger.reconciliation().journaled, 1)
      yield* stop
    }))

  it.effect("a row that is refused and cannot be set aside is kept, until the store takes it or the file can be written", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const file = path.join(directory, "rejected.jsonl")
      fs.mkdirSync(file)
      const store = new Support.ScriptedStore()
      store.refuse = ({ attemptId }) => attemptId !== "after"
      const { ledger, stop } = yield* run(store, { directory })
      const settle = (id: string) => Effect.gen(function*() {
        yield* Support.open(ledger, attemptStart(id))
        ledger.settle(settledRow(attemptStart(id)))
        yield* Support.turn
        yield* TestClock.adjust("2 minutes")
      })
      yield* settle("taken")
      assert.deepInclude(ledger.reconciliation(), { settled: 1, journaled: 1, stored: 0 })
      store.refuse = ({ attemptId }) => attemptId === "aside"
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual([...store.rows.keys()], ["taken"])
      yield* settle("aside")
      assert.deepInclude(ledger.reconciliation(), { settled: 2, journaled: 1, stored: 1 })
      fs.rmdirSync(file)
      yield* TestClock.adjust("2 minutes")
      assert.include(fs.readFileSync(file, "utf8"), "\"aside\"")
      yield* settle("after")
      assert.deepStrictEqual([...store.rows.keys()], ["taken", "after"])
      yield* stop
    }))

  it.effect("a row is set aside only when it was refused twice", () =>
    Effect.gen(function*() {
      const directory = yield* Support.temporaryDirectory
      const store = new Support.ScriptedStore()
      let refusals = 1
      store.refuse = () => refusals-- > 0
      const { ledger, stop } = yield* run(store, { directory })
      yield* Support.open(ledger, attemptStart("once"))
      ledger.settle(settledRow(attemptStart("once")))
      yield* Support.turn
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual([[...store.rows.keys()], Support.files(directory, /rejected/)], [["once"], []])
      yield* stop
    }))
})
