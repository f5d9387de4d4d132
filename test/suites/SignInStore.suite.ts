import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { SignInStore } from "#src/features/oauth/ports/SignInStore.ts"
import { eventually } from "#test/support/operator.ts"

let sequence = 0
const freshId = (): string => `sign-in-${process.pid}-${++sequence}`
const LIFE_MS = 60_000

export const suite = (name: string, layer: Layer.Layer<SignInStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`SignInStore on ${name}`, (it) => {
    it.effect("of many who take a sign-in one gets it; before that everybody finds it, after that nobody", () => Effect.gen(function*() {
      const store = yield* SignInStore
      const id = freshId()
      yield* store.add(id, "v1.sealed", LIFE_MS, 0)
      assert.strictEqual(yield* store.find(id), "v1.sealed")
      assert.strictEqual(yield* store.find(id), "v1.sealed")
      const taken = yield* Effect.all(Array.from({ length: 20 }, () => store.take(id)), { concurrency: "unbounded" })
      assert.deepStrictEqual(taken.filter((one) => one !== null), ["v1.sealed"])
      assert.isNull(yield* store.find(id))
      assert.isNull(yield* store.take(id))
    }))

    it.effect("a sign-in is forgotten at the end of its life", () => Effect.gen(function*() {
      const store = yield* SignInStore
      const id = freshId()
      yield* store.add(id, "v1.sealed", 30, 0)
      yield* Effect.promise(() => eventually(() => Effect.runPromise(store.find(id)), (found) => found === null, "the end of its life"))
      assert.isNull(yield* store.take(id))
      assert.isFalse(yield* store.turn(id, LIFE_MS))
    }))

    it.effect("one asks at a time, none before its time, and a turn that nobody ends passes on", () => Effect.gen(function*() {
      const store = yield* SignInStore
      const early = freshId()
      yield* store.add(early, "v1.sealed", LIFE_MS, LIFE_MS)
      assert.isFalse(yield* store.turn(early, LIFE_MS))
      const id = freshId()
      yield* store.add(id, "v1.sealed", LIFE_MS, 0)
      const turns = yield* Effect.all(Array.from({ length: 20 }, () => store.turn(id, LIFE_MS)), { concurrency: "unbounded" })
      assert.lengthOf(turns.filter((mine) => mine), 1)
      yield* store.rest(id, "v1.slower", 0)
      assert.strictEqual(yield* store.find(id), "v1.slower")
      assert.isTrue(yield* store.turn(id, 30))
      yield* Effect.promise(() => eventually(() => Effect.runPromise(store.turn(id, LIFE_MS)), (mine) => mine, "the end of a lost turn"))
      yield* store.rest(id, "v1.slower", LIFE_MS)
      assert.isFalse(yield* store.turn(id, LIFE_MS))
    }))

    it.effect("what was taken does not come back with the end of a turn", () => Effect.gen(function*() {
      const store = yield* SignInStore
      const id = freshId()
      yield* store.add(id, "v1.sealed", LIFE_MS, 0)
      assert.isTrue(yield* store.turn(id, LIFE_MS))
      assert.strictEqual(yield* store.take(id), "v1.sealed")
      yield* store.rest(id, "v1.sealed", 0)
      assert.isNull(yield* store.find(id))
      assert.isFalse(yield* store.turn(id, LIFE_MS))
    }))
  })
}
