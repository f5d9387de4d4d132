import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { KeyStore } from "#actors/ports/Stores.ts"
import { ApiKey, defaultPolicy } from "#schemas/records/ApiKey.ts"
import { apiKey, asText, at, kept } from "./records.ts"

const revealed = (key: ApiKey | null): unknown =>
  key === null ? null : { ...key, sealedKey: key.sealedKey === null ? null : Redacted.value(key.sealedKey).toWellFormed() }

export const suite = (name: string, layer: Layer.Layer<KeyStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`KeyStore on ${name}`, (it) => {
    it.effect("finds a key by its hash and by its id", () =>
      Effect.gen(function*() {
        const store = yield* KeyStore
        const given = apiKey({ id: "k-1", keyHash: "h-1", sealedKey: Redacted.make("sk-the-key"), policy: { ...defaultPolicy, allowedModels: ["a/b"] } })
        yield* store.insert(given)
        assert.deepStrictEqual(revealed(yield* store.findByHash("h-1")), revealed(given))
        assert.deepStrictEqual(revealed(yield* store.get("k-1")), revealed(given))
        assert.isNull(yield* store.findByHash("h-unknown"))
        assert.isNull(yield* store.get("k-unknown"))
        yield* store.insert(apiKey({ id: "k-1b", keyHash: "h-1b" }))
        assert.deepStrictEqual((yield* store.some(["k-1", "k-unknown"])).map(({ id }) => id), ["k-1"])
        assert.deepStrictEqual(yield* store.some([]), [])
      }))

    it.effect("a taken hash or id is a conflict that names it", () =>
      Effect.gen(function*() {
        const store = yield* KeyStore
        yield* store.insert(apiKey({ id: "k-2", keyHash: "h-2" }))
        const byHash = yield* Effect.flip(store.insert(apiKey({ id: "k-3", keyHash: "h-2" })))
        const byId = yield* Effect.flip(store.insert(apiKey({ id: "k-2", keyHash: "h-3" })))
        assert.deepStrictEqual([byHash.reason, byId.reason], ["conflict", "conflict"])
        assert.include(byHash.message, "key_hash is taken")
        assert.include(byId.message, "id is taken")
        assert.notInclude(byHash.message, "h-2")
      }))

    it.effect("list is newest first, paged, with the total", () =>
      Effect.gen(function*() {
        const store = yield* KeyStore
        for (const key of (yield* store.list(1_000, 0)).keys) yield* store.remove(key.id)
        for (let index = 0; index < 5; index++) yield* store.insert(apiKey({ id: `p-${index}`, keyHash: `p-${index}`, createdAt: at(index) }))
        const page = yield* store.list(2, 1)
        assert.deepStrictEqual(page.keys.map((key) => key.id), ["p-3", "p-2"])
        assert.strictEqual(page.total, 5)
        assert.deepStrictEqual(yield* store.list(2, 99), { keys: [], total: 5 })
      }))

    it.effect("list finds a part of a name, an id or a masked value, in any case, and counts what fits", () =>
      Effect.gen(function*() {
        const store = yield* KeyStore
        for (const key of (yield* store.list(1_000, 0)).keys) yield* store.remove(key.id)
        const names = ["Team Ä", "100%_sure", "other"]
        for (const [index, name] of names.entries()) {
          yield* store.insert(apiKey({ id: `s-${index}`, keyHash: `s-${index}`, name, keyPrefix: `sk-pre${index}${index}`, keySuffix: `end${index}`, createdAt: at(index) }))
        }
        const found = Effect.fnUntraced(function*(search: string, limit = 10) {
          const { keys, total } = yield* store.list(limit, 0, search)
          return [total, ...keys.map((key) => key.id)]
        })
        assert.deepStrictEqual(yield* found("TEAM"), [1, "s-0"])
        assert.deepStrictEqual(yield* found("%_"), [1, "s-1"])
        assert.deepStrictEqual(yield* found("S-2"), [1, "s-2"])
        assert.deepStrictEqual(yield* found("pre11****end1"), [1, "s-1"])
        assert.deepStrictEqual(yield* found("s-", 2), [3, "s-2", "s-1"])
        assert.deepStrictEqual(yield* found("nothing"), [0])
      }))

    it.effect("touch moves the last use forward only", () =>
      Effect.gen(function*() {
        const store = yield* KeyStore
        yield* store.insert(apiKey({ id: "k-4", keyHash: "h-4" }))
        yield* store.insert(apiKey({ id: "k-4b", keyHash: "h-4b" }))
        yield* store.touch("k-4", at(5))
        yield* store.touch("k-4", at(10))
        yield* store.touch("k-4", at(7))
        assert.isNull((yield* store.get("k-4b"))?.lastUsedAt)
        yield* store.touch("k-nobody", at(5))
        assert.strictEqual((yield* store.get("k-4"))?.lastUsedAt, at(10))
      }))

    it.effect("replace and remove answer whether the key was there", () =>
      Effect.gen(function*() {
        const store = yield* KeyStore
        yield* store.insert(apiKey({ id: "k-5", keyHash: "h-5", sealedKey: Redacted.make("x") }))
        const next = apiKey({ id: "k-5", keyHash: "h-5b", name: "Other", policy: { ...defaultPolicy, isBanned: true }, revokedAt: at(1) })
        const { updatedAt } = next
        assert.isTrue(yield* store.replace(next, updatedAt))
        assert.deepStrictEqual(yield* store.get("k-5"), next)
        assert.isNull(yield* store.findByHash("h-5"))
        assert.isFalse(yield* store.replace(apiKey({ id: "k-nobody", keyHash: "h-nobody" }), updatedAt))
        yield* store.insert(apiKey({ id: "k-5b", keyHash: "h-5c" }))
        assert.isTrue(yield* store.remove("k-5"))
        assert.strictEqual((yield* store.get("k-5b"))?.id, "k-5b")
        assert.isFalse(yield* store.remove("k-5"))
      }))

    it.effect("replace stores nothing over a change that it has not seen", () =>
      Effect.gen(function*() {
        const store = yield* KeyStore
        const first = apiKey({ id: "k-6", keyHash: "h-6", updatedAt: at(1) })
        const second = { ...first, name: "Second", updatedAt: at(2) }
        yield* store.insert(first)
        assert.isTrue(yield* store.replace(second, at(1)))
        assert.isFalse(yield* store.replace({ ...first, name: "Third", updatedAt: at(3) }, at(1)))
        assert.deepStrictEqual(yield* store.get("k-6"), second)
      }))

    it.effect.prop("any key comes back as it was put", [ApiKey], ([given]) =>
      Effect.gen(function*() {
        const store = yield* KeyStore
        const same = yield* store.findByHash(given.keyHash)
        if (same !== null) yield* store.remove(same.id)
        yield* store.remove(asText(given.id))
        yield* store.insert(given)
        assert.deepStrictEqual(revealed(yield* store.get(given.id)), revealed(kept(given, ["policy"])))
      }), { arbitrary: { runs: 20 } })
  })
}
