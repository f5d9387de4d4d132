import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { ResponseStore, type StoredResponse } from "#src/features/responses/ResponseStore.ts"

const one = (id: string, fields: Partial<StoredResponse> = {}): StoredResponse => ({
  id, keyId: "k1", createdAt: 1_000, expiresAt: 10_000, updatedAt: 1_000, status: "completed", input: "[]", response: `{"id":"${id}"}`, ...fields
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

    it.effect("touching says which were cancelled elsewhere", () => Effect.gen(function*() {
      const store = yield* ResponseStore
      yield* store.put(one("resp_c", { status: "in_progress" }))
      yield* store.put(one("resp_d", { status: "in_progress" }))
      yield* store.cancel("resp_d", "{}", 2_000)
      assert.deepStrictEqual(yield* store.touch(["resp_c", "resp_d", "resp_none"], 3_000), ["resp_d"])
      assert.strictEqual((yield* store.find("resp_c", 0))?.updatedAt, 3_000)
      assert.deepStrictEqual(yield* store.touch([], 4_000), [])
    }))

    it.effect("expired ones go", () => Effect.gen(function*() {
      const store = yield* ResponseStore
      yield* store.put(one("resp_e", { expiresAt: 5_000 }))
      yield* store.put(one("resp_f", { expiresAt: 50_000 }))
      yield* store.removeExpired(5_000)
      assert.isNull(yield* store.find("resp_e", 0))
      assert.isNotNull(yield* store.find("resp_f", 0))
    }))
  })
}
