/** Vectors of texts: what is read of answers, how they are kept, and how entries are ranked by them. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import type { MemoryEntry } from "#schemas/memory/MemoryEntry.ts"
import { memoryDefaults } from "#schemas/memory/MemorySettings.ts"
import * as Rank from "#src/features/memory/ranking/rank.ts"
import { Remembered } from "#src/features/memory/ranking/Remembered.ts"
import * as Vector from "#src/features/memory/vectors/vector.ts"

const Numbers = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: -1_000, maximum: 1_000 }))).check(Schema.isMinLength(1), Schema.isMaxLength(50))
const vector = (...numbers: ReadonlyArray<number>): Vector.Vector => Vector.vectorOf(numbers) as Vector.Vector

describe("a vector", () => {
  it.prop("has length one, comes back from its bytes, and is nearest to itself", [Numbers], ([numbers]) => {
    const made = Vector.vectorOf(numbers)
    if (numbers.every((number) => number === 0)) return assert.isNull(made)
    if (made === null) return assert.fail("expected a vector")
    assert.deepStrictEqual(Vector.fromBytes(Vector.toBytes(made)), made)
    assert.approximately(Vector.nearness(made, made) ?? 0, 1, 1e-5)
    assert.approximately(Vector.nearness(made, Vector.vectorOf(numbers.map((number) => -number)) as Vector.Vector) ?? 0, -1, 1e-5)
  }, { arbitrary: { runs: 200 } })

  it("is made of finite numbers only, and compared with those of the same model only", () => {
    for (const bad of [null, "x", [], ["1"], [NaN], [Infinity], [1e200, 1e200], Array.from({ length: 16_385 }, () => 1)]) assert.isNull(Vector.vectorOf(bad))
    assert.isNull(Vector.fromBytes(new Uint8Array(3)))
    assert.isNull(Vector.fromBytes(new Uint8Array()))
    assert.isNull(Vector.nearness(vector(1), vector(1, 0)))
    assert.approximately(Vector.nearness(vector(3, 4), vector(4, 3)) ?? 0, 0.96, 1e-6)
  })

  it("is taken from an answer by its index, and only where all are there", () => {
    const body = (...data: ReadonlyArray<unknown>) => JSON.stringify({ data })
    const [one, two] = [{ index: 0, embedding: [1, 0] }, { index: 1, embedding: [0, 2] }]
    assert.deepStrictEqual(Vector.vectorsIn(body(two, one), 2), [vector(1, 0), vector(0, 1)])
    for (const bad of ["", "null", "{}", body(one), body(one, one), body(one, { index: 1, embedding: "AAAA" }), body(one, { index: 7, embedding: [1] }), body(one, null)]) {
      assert.isNull(Vector.vectorsIn(bad, 2), bad)
    }
  })
})

describe("ranking", () => {
  const scores = (...all: ReadonlyArray<number>) => new Map(all.map((score, place) => [place, score]))
  const places = (ranked: ReadonlyArray<Rank.Ranked>) => ranked.map(({ place }) => place)

  it("by vectors alone decides where no word is shared, and is fused with words and age", () => {
    assert.deepStrictEqual(places(Rank.rank("semantic", 3, new Map(), scores(0.1, 0.9, 0.5))), [1, 2, 0])
    assert.deepStrictEqual(places(Rank.rank("recent", 3, new Map(), scores(0.1, 0.9, 0.5))), [0, 1, 2])
    // 1/61 + 1/63, 1/62 + 1/61, 1/63 + 1/62
    assert.deepStrictEqual(places(Rank.rank("hybrid", 3, new Map(), scores(0.1, 0.9, 0.5))), [1, 0, 2])
    assert.deepStrictEqual(places(Rank.rank("semantic", 4, new Map([[3, 2]]), new Map([[2, 0.9], [3, 0.1]]))), [3, 2, 0, 1])
  })

  it("wants a question's vector only where it would change what is told", () => {
    const entry = (id: string): MemoryEntry => ({
      id, apiKeyId: "k", sessionId: "", type: "factual", key: id, content: id, metadata: {}, createdAt: id, updatedAt: "2026-01-01T00:00:00.000Z", expiresAt: null, tokens: 50
    })
    const known = new Remembered([entry("a"), entry("b")], new Map([["a", vector(1, 0)], ["b", vector(0, 1)]]))
    const settings = { ...memoryDefaults, memoryRetentionDays: 0, memoryMaxTokens: 90 }
    assert.isTrue(known.wantsVector(null, settings, 0))
    assert.isFalse(known.wantsVector(null, { ...settings, memoryMaxTokens: 2_000 }, 0))
    assert.isFalse(known.wantsVector(null, { ...settings, memoryStrategy: "recent" }, 0))
    assert.isFalse(new Remembered([entry("a"), entry("b")]).wantsVector(null, settings, 0))
    assert.include(known.text(null, () => "?", { ...settings, memoryStrategy: "semantic" }, 0, { asked: vector(0, 1), scores: null }) ?? "", "b: b")
    assert.include(known.text(null, () => "?", { ...settings, memoryStrategy: "semantic" }, 0) ?? "", "a: a")
    assert.include(known.text(null, () => "?", { ...settings, memoryStrategy: "semantic" }, 0, { asked: vector(1, 0), scores: new Map([["b", 0.2]]) }) ?? "", "b: b")
    // Two entries of two numbers each, beside their texts.
    assert.strictEqual(known.characters, 4 + 8)
  })
})
