import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { KeyStore } from "#actors/ports/Stores.ts"
import type { MemoryEntry } from "#schemas/memory/MemoryEntry.ts"
import { MemoryStore } from "#src/features/memory/ports/MemoryStore.ts"
import { apiKey, at, time } from "./records.ts"

const entry = (id: string, fields: Partial<MemoryEntry> = {}): MemoryEntry => ({
  id, apiKeyId: "crud", sessionId: "", type: "factual", key: id, content: `content of ${id}`, metadata: {}, createdAt: time, updatedAt: time, expiresAt: null, tokens: 7, ...fields
})

export const suite = (name: string, layer: Layer.Layer<MemoryStore | KeyStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`MemoryStore on ${name}`, (it) => {
    const ids = (entries: ReadonlyArray<MemoryEntry>) => entries.map(({ id }) => id)

    it.effect("an entry comes back as it was put, is replaced by its id, and goes", () => Effect.gen(function*() {
      const store = yield* MemoryStore
      const given = entry("one", { sessionId: "s", type: "procedural", metadata: { deep: [1, { a: null }] }, expiresAt: at(9), content: "a\nb \u{1F600}" })
      yield* store.put(given)
      assert.deepStrictEqual(yield* store.get("one"), given)
      assert.deepStrictEqual(yield* store.findByKey("crud", "one"), given)
      assert.isNull(yield* store.findByKey("other", "one"))
      const changed = { ...given, key: "renamed", content: "c", metadata: {}, updatedAt: at(2), expiresAt: null, tokens: 3 }
      yield* store.put(changed)
      assert.deepStrictEqual(yield* store.get("one"), changed)
      assert.isTrue(yield* store.remove("one"))
      assert.isFalse(yield* store.remove("one"))
      assert.isNull(yield* store.get("one"))
      yield* store.ping
    }))

    it.effect("a key names one entry of an API key, and another one's entry beside it", () => Effect.gen(function*() {
      const store = yield* MemoryStore
      yield* store.put(entry("k1", { apiKeyId: "names", key: "same" }))
      const refused = yield* Effect.flip(store.put(entry("k2", { apiKeyId: "names", key: "same" })))
      assert.deepStrictEqual([refused.reason, refused.field], ["conflict", "key"])
      yield* store.put(entry("k3", { apiKeyId: "others", key: "same" }))
      assert.strictEqual((yield* store.findByKey("names", "same"))?.id, "k1")
      assert.strictEqual((yield* store.findByKey("others", "same"))?.id, "k3")
      assert.isNull(yield* store.findByKey("names", "another"))
    }))

    it.effect("one entry takes the place of several", () => Effect.gen(function*() {
      const store = yield* MemoryStore
      for (const id of ["p1", "p2", "p3"]) yield* store.put(entry(id, { apiKeyId: "places" }))
      yield* store.replace(["p1", "p3", "gone"], entry("p4", { apiKeyId: "places", content: "both" }))
      const { entries } = yield* store.list({ apiKeyId: "places" }, 10, 0)
      assert.deepStrictEqual(entries.map(({ content, id }) => [id, content]), [["p2", "content of p2"], ["p4", "both"]])
    }))

    it.effect("a vector is kept for an entry, by its model, until the entry goes or another vector comes", () => Effect.gen(function*() {
      const store = yield* MemoryStore
      yield* store.put(entry("v1", { apiKeyId: "vectors" }))
      yield* store.put(entry("v2", { apiKeyId: "vectors" }))
      yield* store.put(entry("v3", { apiKeyId: "vectors-of-another" }))
      const made = (memoryId: string, digest: string, ...numbers: ReadonlyArray<number>) => ({ memoryId, digest, vector: Float32Array.from(numbers) })
      yield* store.putVectors("vectors", "small", [made("v1", "a", 0.5, -0.25, 1e-7), made("v2", "b", 1), made("v3", "c", 1), made("gone", "d", 1)])
      assert.deepStrictEqual(yield* store.vectors("vectors", "small"), [made("v1", "a", 0.5, -0.25, 1e-7), made("v2", "b", 1)])
      assert.deepStrictEqual(yield* store.vectors("vectors", "large"), [])
      yield* store.putVectors("vectors-of-another", "small", [made("v3", "f", 2)])
      assert.deepStrictEqual((yield* store.vectors("vectors", "small")).map(({ memoryId }) => memoryId), ["v1", "v2"])
      yield* store.putVectors("vectors", "large", [made("v1", "e", 0.125)])
      assert.deepStrictEqual(yield* store.vectors("vectors", "large"), [made("v1", "e", 0.125)])
      assert.deepStrictEqual(yield* store.vectors("vectors", "small"), [made("v2", "b", 1)])
      yield* store.remove("v2")
      assert.deepStrictEqual(yield* store.vectors("vectors", "small"), [])
      assert.strictEqual(yield* store.removeVectors("vectors"), 1)
      assert.strictEqual(yield* store.removeVectors("vectors"), 0)
      assert.deepStrictEqual(yield* store.vectors("vectors-of-another", "small"), [made("v3", "f", 2)])
      const owners = yield* store.owners("vector", 2)
      assert.deepStrictEqual(owners, ["vectors", "vectors-of-another"])
      assert.deepStrictEqual(yield* store.owners("vectors", 1), ["vectors-of-another"])
    }))

    it.effect("lists are by the newest change, by owner, type, session, age and words, and count what matches", () => Effect.gen(function*() {
      const store = yield* MemoryStore
      yield* store.put(entry("l1", { apiKeyId: "list", updatedAt: at(1), content: "Likes TEA", tokens: 1 }))
      yield* store.put(entry("l2", { apiKeyId: "list", updatedAt: at(3), type: "episodic", sessionId: "s", tokens: 2 }))
      yield* store.put(entry("l3", { apiKeyId: "list", updatedAt: at(2), type: "episodic", key: "100%_tea", tokens: 4 }))
      const list = (filter: Parameters<typeof store.list>[0], limit = 10, offset = 0) => Effect.map(
        store.list({ apiKeyId: "list", ...filter }, limit, offset), ({ entries, total }) => [ids(entries), total]
      )
      assert.deepStrictEqual(yield* list({}), [["l2", "l3", "l1"], 3])
      assert.deepStrictEqual(yield* list({}, 1, 1), [["l3"], 3])
      assert.deepStrictEqual(yield* list({ type: "episodic" }), [["l2", "l3"], 2])
      assert.deepStrictEqual(yield* list({ sessionId: "s" }), [["l2"], 1])
      assert.deepStrictEqual(yield* list({ q: "tea" }), [["l3", "l1"], 2])
      assert.deepStrictEqual(yield* list({ q: "%" }), [["l3"], 1])
      assert.deepStrictEqual(yield* list({ before: at(2) }), [["l1"], 1])
      assert.deepStrictEqual(yield* store.figures({ apiKeyId: "list" }), { total: 3, byType: { factual: 1, episodic: 2, semantic: 0, procedural: 0 }, tokens: 7 })
      assert.deepStrictEqual(yield* store.weight("list", "l1"), { entries: 2, characters: "l2content of l2".length + "100%_teacontent of l3".length })
      assert.strictEqual(yield* store.removeAll({ apiKeyId: "list", type: "episodic" }), 2)
      assert.deepStrictEqual(yield* list({}), [["l1"], 1])
    }))

    it.effect("what expired is not said, and is swept with what nobody changed for long", () => Effect.gen(function*() {
      const store = yield* MemoryStore
      yield* store.put(entry("s1", { apiKeyId: "sweep", expiresAt: at(5), updatedAt: at(4) }))
      yield* store.put(entry("s2", { apiKeyId: "sweep", expiresAt: at(6), updatedAt: at(4) }))
      yield* store.put(entry("s3", { apiKeyId: "sweep", updatedAt: at(1) }))
      assert.deepStrictEqual(ids(yield* store.ofKey("sweep", at(5), 10)), ["s2", "s3"])
      assert.deepStrictEqual(ids(yield* store.ofKey("sweep", at(5), 1)), ["s2"])
      assert.strictEqual(yield* store.sweep(at(5), null), 1)
      assert.deepStrictEqual(ids((yield* store.list({ apiKeyId: "sweep" }, 10, 0)).entries), ["s2", "s3"])
      yield* store.sweep(at(5), at(2))
      assert.deepStrictEqual(ids((yield* store.list({ apiKeyId: "sweep" }, 10, 0)).entries), ["s2"])
    }))

    it.effect("entries go with their API key", () => Effect.gen(function*() {
      const keys = yield* KeyStore
      const store = yield* MemoryStore
      yield* keys.insert(apiKey({ id: "memory-owner" }))
      yield* store.put(entry("o1", { apiKeyId: "memory-owner" }))
      yield* store.put(entry("o2", { apiKeyId: "" }))
      yield* keys.remove("memory-owner")
      assert.isNull(yield* store.get("o1"))
      assert.strictEqual((yield* store.get("o2"))?.id, "o2")
    }))
  })
}
