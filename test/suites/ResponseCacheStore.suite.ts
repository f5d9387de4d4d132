import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { type CachedAnswer, type EntryQuery, ResponseCacheStore } from "#src/features/cache/ports/ResponseCache.ts"

const answer = (signature: string, fields: Partial<CachedAnswer> = {}): CachedAnswer => ({
  signature, apiKeyId: "k1", model: "lab/echo", provider: "lab", strategy: "single", format: "chat-completions",
  body: Buffer.from(`{"said":"${signature}"}`), tokensIn: 10, tokensOut: 5, costUsd: 0.0000012345, createdAt: 1_000, expiresAt: 10_000, ...fields
})

const everything: EntryQuery = { sortBy: "created_at", descending: true, limit: 100, offset: 0 }

export const suite = (name: string, layer: Layer.Layer<ResponseCacheStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`ResponseCacheStore on ${name}`, (it) => {
    const fresh = <A, E>(body: (store: ResponseCacheStore["Service"]) => Effect.Effect<A, E>) => Effect.gen(function*() {
      const store = yield* ResponseCacheStore
      yield* store.remove({ _tag: "All" })
      return yield* body(store)
    })

    it.effect("an answer comes back as it was put, byte by byte, until it expires", () => fresh((store) => Effect.gen(function*() {
      const given = answer("k1.a", { body: Buffer.from('{"text":"häß\\u0000 \\"quoted\\" 日本 😀"}') })
      yield* store.put([given])
      const found = yield* store.find("k1.a", 9_999)
      assert.deepStrictEqual(found === null ? null : { ...found, body: Buffer.from(found.body) }, given)
      assert.isNull(yield* store.find("k1.a", 10_000))
      assert.isNull(yield* store.find("k2.a", 0))
    })))

    it.effect("the newest answer of a signature stands, also within one batch and when an older one comes later", () => fresh((store) => Effect.gen(function*() {
      yield* store.put([answer("k1.a", { tokensIn: 1 }), answer("k1.a", { tokensIn: 2, createdAt: 2_000 })])
      yield* store.put([answer("k1.a", { tokensIn: 3, createdAt: 1_500 })])
      assert.strictEqual((yield* store.find("k1.a", 0))?.tokensIn, 2)
      assert.deepStrictEqual([yield* store.count(0), yield* store.count(1e15)], [1, 0])
    })))

    it.effect("hits add up, save their tokens, and pass over signatures that are gone", () => fresh((store) => Effect.gen(function*() {
      yield* store.put([answer("k1.a"), answer("k1.b")])
      yield* store.noteHits([{ signature: "k1.a", hits: 2 }, { signature: "k1.gone", hits: 7 }])
      yield* store.noteHits([{ signature: "k1.a", hits: 1 }])
      const { entries } = yield* store.entries(everything, 0)
      assert.deepStrictEqual(entries.map(({ hits, tokensSaved }) => [hits, tokensSaved]).sort(), [[0, 0], [3, 45]])
    })))

    it.effect("entries are filtered, sorted and paged; expired ones are not there", () => fresh((store) => Effect.gen(function*() {
      yield* store.put([
        answer("k1.a", { createdAt: 1, model: "lab/one" }), answer("k1.b", { createdAt: 3, model: "lab/two" }),
        answer("k2.c", { createdAt: 2, model: "lab/two", expiresAt: 9_000 }), answer("k1.old", { expiresAt: 50 })
      ])
      const names = (query: Partial<EntryQuery>) => Effect.map(store.entries({ ...everything, ...query }, 100), ({ entries, total }) => [entries.map((e) => e.signature), total])
      assert.deepStrictEqual(yield* names({}), [["k1.b", "k2.c", "k1.a"], 3])
      assert.deepStrictEqual(yield* names({ descending: false, limit: 2, offset: 1 }), [["k2.c", "k1.b"], 3])
      assert.deepStrictEqual(yield* names({ model: "lab/two" }), [["k1.b", "k2.c"], 2])
      assert.deepStrictEqual(yield* names({ search: "K2." }), [["k2.c"], 1])
      assert.deepStrictEqual(yield* names({ search: "%" }), [[], 0])
      assert.deepStrictEqual(yield* names({ sortBy: "expires_at", descending: false }), [["k2.c", "k1.a", "k1.b"], 3])
      assert.deepStrictEqual(yield* names({ sortBy: "model", descending: false }), [["k1.a", "k1.b", "k2.c"], 3])
    })))

    it.effect("remove forgets by signature, model or age, and says what went", () => fresh((store) => Effect.gen(function*() {
      yield* store.put([answer("k1.a", { model: "m1" }), answer("k1.b", { model: "m2" }), answer("k1.c", { model: "m2" }), answer("k1.d", { createdAt: 5_000 })])
      assert.deepStrictEqual(yield* store.remove({ _tag: "Signature", signature: "k1.a" }), ["k1.a"])
      assert.deepStrictEqual([...yield* store.remove({ _tag: "Model", model: "m2" })].sort(), ["k1.b", "k1.c"])
      assert.deepStrictEqual(yield* store.remove({ _tag: "Stale", storedBefore: 4_999 }), [])
      assert.deepStrictEqual(yield* store.remove({ _tag: "Stale", storedBefore: 5_000 }), ["k1.d"])
    })))

    it.effect("a sweep takes what expired, then the oldest beyond the limit", () => fresh((store) => Effect.gen(function*() {
      yield* store.put([answer("k1.a", { createdAt: 1 }), answer("k1.b", { createdAt: 2 }), answer("k1.c", { createdAt: 3 }), answer("k1.x", { expiresAt: 5 })])
      assert.strictEqual(yield* store.sweep(5, 2), 2)
      assert.deepStrictEqual((yield* store.entries(everything, 5)).entries.map((e) => e.signature), ["k1.c", "k1.b"])
    })))
  })
}
