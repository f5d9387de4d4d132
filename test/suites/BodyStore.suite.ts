import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { BodyStore, type SealedBodies } from "#src/features/bodies/ports/BodyStore.ts"

const one = (id: string, createdAt: number, sealed = "12345"): SealedBodies => ({ id, createdAt, sealed })

export const suite = (name: string, layer: Layer.Layer<BodyStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`BodyStore on ${name}`, (it) => {
    it.effect("records come back by their ids, newest first, unless they are too old, and stay as they were put", () => Effect.gen(function*() {
      const store = yield* BodyStore
      yield* store.put([one("a", 1_000), one("b", 2_000)])
      yield* store.put([one("a", 9_000, "other")])
      yield* store.put([])
      assert.deepStrictEqual(yield* store.find(["a", "b", "none"], 0), [one("b", 2_000), one("a", 1_000)])
      assert.deepStrictEqual(yield* store.find(["a", "b"], 1_001), [one("b", 2_000)])
      assert.deepStrictEqual(yield* store.find([], 0), [])
      assert.strictEqual(yield* store.removeBefore(2_001), 2)
    }))

    it.effect("those that are renewed count as made then, and no earlier", () => Effect.gen(function*() {
      const store = yield* BodyStore
      yield* store.put([one("g", 1_000), one("h", 2_000)])
      yield* store.renew(["g", "none"], 3_000)
      yield* store.renew(["g"], 500)
      yield* store.renew([], 9_000)
      assert.deepStrictEqual(yield* store.find(["g", "h"], 0), [one("g", 3_000), one("h", 2_000)])
      assert.strictEqual(yield* store.removeBefore(3_001), 2)
    }))

    it.effect("those before a time are removed, and the oldest of those beyond a size", () => Effect.gen(function*() {
      const store = yield* BodyStore
      yield* store.put([one("c", 1_000), one("d", 2_000), one("e", 3_000), one("f", 4_000)])
      assert.strictEqual(yield* store.removeBefore(2_000), 1)
      assert.strictEqual(yield* store.removeBeyond(15), 0)
      assert.strictEqual(yield* store.removeBeyond(12), 1)
      assert.deepStrictEqual((yield* store.find(["c", "d", "e", "f"], 0)).map(({ id }) => id), ["f", "e"])
      assert.strictEqual(yield* store.removeBeyond(0), 2)
    }))
  })
}
