import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { ResponseStore, type StoredResponse } from "#src/features/responses/ResponseStore.ts"

const one = (id: string, fields: Partial<StoredResponse> = {}): StoredResponse => ({
  id, keyId: "k1", createdAt: 1_000, expiresAt: 10_000, updatedAt: 1_000, status: "completed", input: "[]", response: `{"id":"${id}"}`, run: 1, ...fields
})

export const suite = (name: string, layer: Layer.Layer<ResponseStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`ResponseStore on ${name}`, (it) => {
    it.effect("a response comes back as it was put, until it expires or is removed", () => Effect.gen(function*() {
      const store = yield* ResponseStore
      const given = one("resp_a", { keyId: null, input: '["häß \\"quoted\\" 日本 😀"]' })
      yield* store.put(given)
      assert.deepStrictEqual(yield* store.find("resp_a", 9_999), given)
      assert.isNull(yield* store.find("resp_a", 10_000))
      assert.isNull(yield* store.find("resp_none", 0))
      yield* store.remove("resp_a")
      assert.isNull(yield* store.find("resp_a", 0))
    }))

    it.effect("a later state replaces it, but never another key's, and never a cancelled one", () => Effect.gen(function*() {
      const store = yield* ResponseStore
      yield* store.put(one("resp_b", { status: "queued" }))
      yield* store.put(one("resp_b", { status: "completed", keyId: "k2", response: "{}" }))
      assert.strictEqual((yield* store.find("resp_b", 0))?.status, "queued")
      assert.isTrue(yield* store.cancel("resp_b", '{"status":"cancelled"}', 2_000))
      yield* store.put(one("resp_b", { status: "completed" }))
      const found = yield* store.find("resp_b", 0)
      assert.deepStrictEqual([found?.status, found?.response, found?.updatedAt], ["cancelled", '{"status":"cancelled"}', 2_000])
      assert.isFalse(yield* store.cancel("resp_b", "{}", 3_000))
    }))

    it.effect("touching says which are not to be made here any more: cancelled, deleted, or in a newer run", () => Effect.gen(function*() {
      const store = yield* ResponseStore
      const names = ["resp_c", "resp_d", "resp_e", "resp_f"]
      for (const id of names) yield* store.begin({ ...one(id, { status: "in_progress" }), request: "{}" })
      yield* store.cancel("resp_d", "{}", 2_000)
      yield* store.remove("resp_e")
      yield* store.leave({ id: "resp_f", run: 1 })
      assert.deepStrictEqual((yield* store.takeOver({ silentSince: 1, now: 2_500, limit: 9 })).map(({ id, run }) => [id, run]), [["resp_f", 2]])
      assert.deepStrictEqual(yield* store.touch(names.map((id) => ({ id, run: 1 })), 3_000), ["resp_d", "resp_e", "resp_f"])
      assert.strictEqual((yield* store.find("resp_c", 0))?.updatedAt, 3_000)
      assert.deepStrictEqual(yield* store.touch([], 4_000), [])
      // Only what it names: else what a dead node was making would never be taken over.
      assert.deepStrictEqual(yield* store.touch([{ id: "resp_f", run: 2 }], 5_000), [])
      assert.strictEqual((yield* store.find("resp_c", 0))?.updatedAt, 3_000)
      for (const id of names) yield* store.remove(id)
    }))

    it.effect("a silent one is taken over once, with what it is made of, and only the newest run ends it", () => Effect.gen(function*() {
      const store = yield* ResponseStore
      yield* store.begin({ ...one("resp_g", { status: "in_progress", updatedAt: 1_000 }), request: '{"a":"häß 😀"}' })
      yield* store.begin({ ...one("resp_h", { status: "in_progress", updatedAt: 9_000 }), request: null })
      const [first, second] = yield* Effect.all([store.takeOver({ silentSince: 5_000, now: 6_000, limit: 9 }), store.takeOver({ silentSince: 5_000, now: 6_000, limit: 9 })], { concurrency: 2 })
      assert.deepStrictEqual([...first, ...second].map(({ id, request, run, updatedAt }) => [id, request, run, updatedAt]), [["resp_g", '{"a":"häß 😀"}', 2, 6_000]])
      assert.isFalse(yield* store.finish(one("resp_g", { response: '{"old":1}', run: 1 })))
      assert.isTrue(yield* store.finish(one("resp_g", { response: '{"new":1}', run: 2, updatedAt: 7_000 })))
      assert.isFalse(yield* store.finish(one("resp_g", { response: '{"again":1}', run: 2 })))
      yield* store.leave({ id: "resp_g", run: 2 })
      assert.deepStrictEqual(yield* store.find("resp_g", 0), one("resp_g", { response: '{"new":1}', run: 2, updatedAt: 7_000 }))
      assert.deepStrictEqual(yield* store.takeOver({ silentSince: 8_000, now: 8_000, limit: 9 }), [])
      yield* store.leave({ id: "resp_h", run: 2 })
      assert.deepStrictEqual(yield* store.takeOver({ silentSince: 8_000, now: 8_000, limit: 9 }), [])
      yield* store.leave({ id: "resp_h", run: 1 })
      assert.deepStrictEqual((yield* store.takeOver({ silentSince: 8_000, now: 8_000, limit: 9 })).map(({ id }) => id), ["resp_h"])
      yield* store.remove("resp_h")
      assert.isFalse(yield* store.finish(one("resp_h", { run: 2 })))
      assert.isNull(yield* store.find("resp_h", 0))
    }))

    it.effect("expired ones go", () => Effect.gen(function*() {
      const store = yield* ResponseStore
      yield* store.put(one("resp_e", { expiresAt: 5_000 }))
      yield* store.put(one("resp_f", { expiresAt: 50_000 }))
      // More than one statement takes: those of an hour are removed in an hour.
      for (let i = 0; i < 1_500; i++) yield* store.put(one(`resp_old_${i}`, { expiresAt: 4_000 }))
      assert.strictEqual(yield* store.removeExpired(5_000), 1_501)
      assert.isNull(yield* store.find("resp_e", 0))
      assert.isNotNull(yield* store.find("resp_f", 0))
    }))
  })
}
