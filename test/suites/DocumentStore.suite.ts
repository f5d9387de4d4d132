import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { DocumentStore } from "#actors/ports/Stores.ts"

export const suite = (name: string, layer: Layer.Layer<DocumentStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`DocumentStore on ${name}`, (it) => {
    it.effect("put writes and overwrites; an absent document is undefined, a stored null is null", () =>
      Effect.gen(function*() {
        const store = yield* DocumentStore
        assert.isUndefined(yield* store.get("setting", "nothing"))
        yield* store.put("setting", "a", { deep: [1, "x"] })
        yield* store.put("setting", "a", "text")
        yield* store.put("setting", "b", null)
        assert.strictEqual(yield* store.get("setting", "a"), "text")
        assert.isNull(yield* store.get("setting", "b"))
        assert.deepStrictEqual(yield* store.list("setting"), new Map<string, unknown>([["a", "text"], ["b", null]]))
        assert.deepStrictEqual(yield* store.list("unknown"), new Map())
      }))

    it.effect("kinds do not mix; clear removes one kind and answers how many", () =>
      Effect.gen(function*() {
        const store = yield* DocumentStore
        yield* store.put("alias", "x", "1")
        yield* store.put("alias", "y", "2")
        yield* store.put("pricing", "x", { input: 1 })
        assert.strictEqual(yield* store.clear("alias"), 2)
        assert.deepStrictEqual(yield* store.get("pricing", "x"), { input: 1 })
        assert.isTrue(yield* store.remove("pricing", "x"))
        assert.isFalse(yield* store.remove("pricing", "x"))
      }))

    it.effect("putIfAbsent answers the value that stands", () =>
      Effect.gen(function*() {
        const store = yield* DocumentStore
        assert.strictEqual(yield* store.putIfAbsent("password", "management", "first"), "first")
        assert.strictEqual(yield* store.putIfAbsent("password", "management", "second"), "first")
      }))

    it.effect("of many that put the same absent key at once, all are told the one value that stands", () =>
      Effect.gen(function*() {
        const store = yield* DocumentStore
        const told = yield* Effect.forEach(
          Array.from({ length: 12 }, (_, index) => index),
          (index) => store.putIfAbsent("password", "race", index),
          { concurrency: "unbounded" }
        )
        const stands = yield* store.get("password", "race")
        assert.deepStrictEqual(told, Array.from({ length: 12 }, () => stands))
      }))

    it.effect("secrets come back like any other document", () =>
      Effect.gen(function*() {
        const store = yield* DocumentStore
        yield* store.put("secret", "webhook", { token: "t" })
        assert.deepStrictEqual(yield* store.get("secret", "webhook"), { token: "t" })
        assert.deepStrictEqual(yield* store.putIfAbsent("secret", "webhook", "other"), { token: "t" })
        assert.deepStrictEqual(yield* store.list("secret"), new Map<string, unknown>([["webhook", { token: "t" }]]))
      }))

    it.effect.prop("any JSON comes back as it was put, of every kind", [Schema.Json], ([given]) =>
      Effect.gen(function*() {
        const store = yield* DocumentStore
        for (const kind of ["setting", "secret"]) {
          yield* store.put(kind, "any", given)
          assert.deepStrictEqual(yield* store.get(kind, "any"), JSON.parse(JSON.stringify(given)))
        }
      }), { arbitrary: { runs: 25 } })
  })
}
