import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Batch from "#actors/batch/Batch.ts"
import type { BatchState } from "#schemas/batches/Batch.ts"
import { BatchStore, type LineResult } from "#src/features/batches/ports/BatchStore.ts"
import { batchRecord } from "./records.ts"

const running = (total: number): Partial<BatchState> => ({ status: "in_progress", total, inProgressAt: 1_500 })
const result = (line: number, fields: Partial<LineResult> = {}): LineResult =>
  ({ line, failed: false, text: `{"line":${line}}`, usage: { input: 3, output: 2, cached: 1, reasoning: 0 }, ...fields })

export const suite = (name: string, layer: Layer.Layer<BatchStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`BatchStore on ${name}`, (it) => {
    it.effect("a batch comes back as it was made, to its key and to operators", () => Effect.gen(function*() {
      const store = yield* BatchStore
      const given = batchRecord("batch_a")
      yield* store.insert(given)
      for (const scope of ["all", { keyId: "k1" }] as const) assert.deepStrictEqual(yield* store.find("batch_a", scope), given)
      assert.isNull(yield* store.find("batch_a", { keyId: "k2" }))
      assert.isNull(yield* store.find("batch_none", "all"))
      assert.strictEqual((yield* Effect.flip(store.insert(given))).reason, "conflict")
    }))

    it.effect("pages go from the newest to the oldest of a scope", () => Effect.gen(function*() {
      const store = yield* BatchStore
      for (const [id, createdAt] of [["p1", 2_000], ["p2", 3_000], ["p3", 3_000]] as const) yield* store.insert(batchRecord(id, { ownerKeyId: "kp" }, { createdAt }))
      const page = (after: string | null, limit: number) => Effect.map(store.list({ keyId: "kp" }, after, limit), (records) => records?.map(({ id }) => id) ?? null)
      assert.deepStrictEqual(yield* page(null, 2), ["p3", "p2"])
      assert.deepStrictEqual(yield* page("p2", 2), ["p1"])
      assert.isNull(yield* page("batch_a", 2))
      assert.deepStrictEqual(yield* store.list({ keyId: "nobody" }, null, 5), [])
    }))

    it.effect("a change is written once per version", () => Effect.gen(function*() {
      const store = yield* BatchStore
      const given = batchRecord("batch_c")
      yield* store.insert(given)
      const [state] = Batch.step(given.state, { _tag: "Validated", total: 2 }, 2_000)
      assert.isTrue(yield* store.change({ ...given, model: "m", state }))
      assert.isFalse(yield* store.change({ ...given, state }))
      const found = yield* store.find("batch_c", "all")
      assert.deepStrictEqual([found?.state, found?.model, found?.version], [state, "m", 2])
      assert.isFalse(yield* store.change(batchRecord("batch_none")))
    }))

    it.effect("each line's first answer counts, and the last line's ends the batch", () => Effect.gen(function*() {
      const store = yield* BatchStore
      yield* store.insert(batchRecord("batch_d", {}, running(3)))
      const first = yield* store.finish("batch_d", [result(2), result(1, { failed: true, usage: null })], 2_000)
      assert.deepStrictEqual([first?.state.completed, first?.state.failed, first?.state.status], [1, 1, "in_progress"])
      const again = yield* store.finish("batch_d", [result(2, { text: "other" })], 2_000)
      assert.deepStrictEqual(again, yield* store.find("batch_d", "all"))
      assert.strictEqual(again?.state.completed, 1)
      const last = yield* store.finish("batch_d", [result(2), result(3)], 3_000)
      assert.deepStrictEqual([last?.state.status, last?.state.ending, last?.state.finalizingAt], ["finalizing", "completed", 3_000])
      assert.deepStrictEqual(last?.usage, { input: 6, output: 4, cached: 2, reasoning: 0 })
      assert.deepStrictEqual(yield* store.page("batch_d", false, { after: 0, through: 9 }, 1_000), { through: 9, text: '{"line":2}\n{"line":3}\n' })
      assert.deepStrictEqual(yield* store.page("batch_d", false, { after: 2, through: 3 }, 1_000), { through: 3, text: '{"line":3}\n' })
      assert.deepStrictEqual(yield* store.page("batch_d", true, { after: 0, through: 9 }, 1_000), { through: 9, text: '{"line":1}\n' })
      assert.deepStrictEqual(yield* store.page("batch_d", false, { after: 0, through: 9 }, 10), { through: 2, text: '{"line":2}\n' })
      assert.deepStrictEqual(yield* store.page("batch_d", false, { after: 0, through: 2 }, 1_000), { through: 2, text: '{"line":2}\n' })
      assert.deepStrictEqual([yield* store.lastAnswer("batch_d", false), yield* store.lastAnswer("batch_d", true)], [3, 1])
      assert.deepStrictEqual(yield* store.finished("batch_d", 2, 2_000_000_000), new Set([2, 3]))
      yield* store.dropResults("batch_d")
      assert.deepStrictEqual([yield* store.page("batch_d", false, { after: 0, through: 9 }, 1_000), yield* store.lastAnswer("batch_d", false)], [{ through: 9, text: "" }, null])
    }))

    it.effect("answers count once, whether the record is known, has changed since, or has such a line", () => Effect.gen(function*() {
      const store = yield* BatchStore
      yield* store.insert(batchRecord("batch_k", {}, running(6)))
      const known = (yield* store.find("batch_k", "all"))!
      const text = 'a "quoted" \\ häß 😀 line'
      const first = (yield* store.finish("batch_k", [result(1), result(2, { failed: true, usage: null, text })], 2_000, known))!
      assert.deepStrictEqual(first, yield* store.find("batch_k", "all"))
      assert.deepStrictEqual([first.state.completed, first.state.failed, first.version], [1, 1, known.version + 1])
      assert.strictEqual((yield* store.page("batch_k", true, { after: 0, through: 9 }, 1_000)).text, `${text}\n`)
      const stale = yield* store.finish("batch_k", [result(3)], 2_000, known)
      assert.deepStrictEqual([stale?.state.completed, stale?.version], [2, first.version + 1])
      const again = yield* store.finish("batch_k", [result(3), result(4)], 2_000, stale!)
      assert.strictEqual(again?.state.completed, 3)
      const last = yield* store.finish("batch_k", [result(5), result(6)], 3_000, again!)
      assert.deepStrictEqual([last?.state.status, last?.state.completed, last?.usage.input], ["finalizing", 5, 15])
      assert.isNull(yield* store.finish("batch_gone", [result(1)], 2_000, batchRecord("batch_gone", {}, running(1))))
    }))

    it.effect("batches leave each other alone", () => Effect.gen(function*() {
      const store = yield* BatchStore
      for (const id of ["batch_x", "batch_y"]) yield* store.insert(batchRecord(id, {}, running(4)))
      const other = yield* store.find("batch_y", "all")
      const known = (yield* store.find("batch_x", "all"))!
      yield* store.finish("batch_x", [result(1)], 2_000, known)
      yield* store.finish("batch_x", [result(2)], 2_000)
      yield* store.advance("batch_x", { line: 3, offset: 300 })
      assert.deepStrictEqual(yield* store.find("batch_y", "all"), other)
      yield* store.finish("batch_y", [result(3), result(4)], 2_000)
      const lines = (id: string) => Effect.map(Effect.all([store.finished(id, 1, 9), store.page(id, false, { after: 0, through: 9 }, 1_000)]), ([finished, { text }]) => [[...finished].sort(), text])
      assert.deepStrictEqual(yield* lines("batch_x"), [[1, 2], '{"line":1}\n{"line":2}\n'])
      assert.deepStrictEqual([yield* store.lastAnswer("batch_x", false), yield* store.lastAnswer("batch_y", false)], [2, 4])
      yield* store.dropResults("batch_x")
      assert.deepStrictEqual([yield* lines("batch_x"), yield* lines("batch_y")], [[[], ""], [[3, 4], '{"line":3}\n{"line":4}\n']])
      for (const id of ["batch_x", "batch_y"]) {
        const one = (yield* store.find(id, "all"))!
        yield* store.change({ ...one, state: { ...one.state, status: "cancelled", cancelledAt: 9 } })
        // Its record is as it was read, but it takes no answers any more.
        assert.isNull(yield* store.finish(id, [result(4)], 3_000, { ...one, version: one.version + 1 }))
      }
      yield* store.told(["batch_x"])
      assert.deepStrictEqual((yield* store.untold(100)).map(({ id }) => id).filter((id) => id === "batch_x" || id === "batch_y"), ["batch_y"])
      yield* store.told(["batch_y"])
    }))

    it.effect("two at once count a line once", () => Effect.gen(function*() {
      const store = yield* BatchStore
      yield* store.insert(batchRecord("batch_e", {}, running(50)))
      yield* Effect.forEach(Array.from({ length: 8 }, (_, n) => n), (n) => store.finish("batch_e", Array.from({ length: 5 }, (_, k) => result(n + k + 1)), 2_000), { concurrency: "unbounded" })
      assert.strictEqual((yield* store.find("batch_e", "all"))?.state.completed, 12)
    }))

    it.effect("a batch that is over takes no answers", () => Effect.gen(function*() {
      const store = yield* BatchStore
      yield* store.insert(batchRecord("batch_f", {}, { status: "cancelled", total: 3 }))
      assert.isNull(yield* store.finish("batch_f", [result(1)], 2_000))
      assert.isNull(yield* store.lastAnswer("batch_f", false))
      assert.isNull(yield* store.finish("batch_none", [result(1)], 2_000))
    }))

    it.effect("the cursor goes forward only, and beside changes", () => Effect.gen(function*() {
      const store = yield* BatchStore
      const given = batchRecord("batch_g", {}, running(9))
      yield* store.insert(given)
      yield* store.advance("batch_g", { line: 5, offset: 5_000_000_000 })
      yield* store.advance("batch_g", { line: 3, offset: 300 })
      assert.isTrue(yield* store.change(given))
      assert.deepStrictEqual((yield* store.find("batch_g", "all"))?.cursor, { line: 5, offset: 5_000_000_000 })
    }))

    it.effect("a batch that ends is untold until it was told", () => Effect.gen(function*() {
      const store = yield* BatchStore
      const given = batchRecord("batch_u", {}, { status: "finalizing", ending: "completed", createdAt: 500 })
      yield* store.insert(given)
      const untold = Effect.map(store.untold(100), (records) => records.map(({ id }) => id).filter((id) => id === "batch_u"))
      assert.isTrue(yield* store.change({ ...given, usage: { input: 1, output: 1, cached: 0, reasoning: 0 } }))
      assert.deepStrictEqual(yield* untold, [])
      assert.isTrue(yield* store.change({ ...given, version: 2, state: { ...given.state, status: "completed", ending: null, completedAt: 9 } }))
      assert.deepStrictEqual(yield* untold, ["batch_u"])
      assert.deepInclude((yield* store.untold(1))[0]?.state, { status: "completed", completedAt: 9 })
      yield* store.told([])
      assert.deepStrictEqual(yield* untold, ["batch_u"])
      yield* store.told(["batch_u", "batch_none"])
      assert.deepStrictEqual(yield* untold, [])
    }))

    it.effect("the open ones come oldest first and key by key, and only those that are over go", () => Effect.gen(function*() {
      const store = yield* BatchStore
      yield* store.insert(batchRecord("o2", { ownerKeyId: "ko" }, { createdAt: 20 }))
      yield* store.insert(batchRecord("o1", { ownerKeyId: "ko" }, { createdAt: 10 }))
      yield* store.insert(batchRecord("o0", { ownerKeyId: "ko", inputFileId: "file-o1" }, { createdAt: 5, status: "completed", outputFileId: "file-out" }))
      yield* store.insert(batchRecord("o3", { ownerKeyId: "ko" }, { createdAt: 30, status: "expired" }))
      yield* store.insert(batchRecord("x1", { ownerKeyId: "kx" }, { createdAt: 9_000_000 }))
      const open = (yield* store.open(100)).map(({ id }) => id)
      assert.deepStrictEqual(open.filter((id) => ["o0", "o1", "o2", "o3", "x1"].includes(id)), ["o1", "x1", "o2"])
      assert.deepStrictEqual((yield* store.open(1)).map(({ id }) => id), ["o1"])
      assert.strictEqual(yield* store.remove("o1", { keyId: "ko" }), "running")
      assert.isNull(yield* store.remove("o3", { keyId: "kx" }))
      assert.strictEqual(yield* store.remove("o3", { keyId: "ko" }), "removed")
      assert.deepStrictEqual(yield* store.inputsInUse(["file-o1", "file-none"]), new Set(["file-o1"]))
      const removeOver = (before: number, onlyCompleted: boolean) => store.removeOver({ scope: { keyId: "ko" }, before, onlyCompleted, limit: 10 })
      yield* store.insert(batchRecord("o4", { ownerKeyId: "ko" }, { createdAt: 4, status: "failed" }))
      assert.deepStrictEqual(yield* removeOver(5, true), [])
      assert.deepStrictEqual(yield* removeOver(6, true), [{ id: "o0", inputFileId: "file-o1", outputFileId: "file-out", errorFileId: null }])
      assert.deepStrictEqual((yield* removeOver(1_000, false)).map(({ id }) => id), ["o4"])
    }))
  })
}
