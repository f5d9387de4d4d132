/** How entries are chosen: words, relevance, fusion, and what is told. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import type { MemoryEntry } from "#schemas/memory/MemoryEntry.ts"
import { memoryDefaults, type MemorySettings } from "#schemas/memory/MemorySettings.ts"
import * as Context from "#src/features/memory/ranking/context.ts"
import { questionOf } from "#src/features/memory/ranking/question.ts"
import * as Rank from "#src/features/memory/ranking/rank.ts"
import { Relevance } from "#src/features/memory/ranking/Relevance.ts"
import { Remembered } from "#src/features/memory/ranking/Remembered.ts"
import { wordsOf } from "#src/features/memory/ranking/words.ts"

const now = Date.parse("2026-06-01T00:00:00.000Z")
const iso = (ms: number): string => new Date(ms).toISOString()
const entry = (id: string, content: string, fields: Partial<MemoryEntry> = {}): MemoryEntry => {
  const made = { id, apiKeyId: "k", sessionId: "", type: "factual" as const, key: id, content, metadata: {}, createdAt: iso(now), updatedAt: iso(now), expiresAt: null, ...fields }
  return { ...made, tokens: Context.tokensOf(made) }
}
const settings = (fields: Partial<MemorySettings> = {}): MemorySettings => ({ ...memoryDefaults, memoryEnabled: true, ...fields })
const linesOf = (text: string | null): ReadonlyArray<string> => text === null ? [] : text.split("\n").slice(4)

describe("words", () => {
  it("are compared in small letters, in any width, and scripts without spaces by pairs", () => {
    assert.deepStrictEqual(wordsOf("It's RUST, v2!"), ["it", "s", "rust", "v2"])
    assert.deepStrictEqual(wordsOf("ＡＢＣ Straße"), ["abc", "straße"])
    assert.deepStrictEqual(wordsOf("東京都 犬"), ["東京", "京都", "犬"])
    assert.deepStrictEqual(wordsOf(" ... "), [])
  })
})

describe("relevance", () => {
  it("counts rare words more, repeats less and less, and long texts less", () => {
    const scores = new Relevance(["cat", "dog dog", "cat dog", "bird bird bird bird bird bird bird bird dog"]).scores("dog cat")
    const order = [...scores].sort((a, b) => b[1] - a[1]).map(([text]) => text)
    assert.deepStrictEqual(order, [2, 0, 1, 3])
    assert.strictEqual(new Relevance(["cat"]).scores("dog").size, 0)
    assert.strictEqual(new Relevance([]).scores("dog").size, 0)
    // ln(1 + (1 - 1 + 0.5) / (1 + 0.5)) * 1 * 2.2 / (1 + 1.2)
    assert.approximately(new Relevance(["cat"]).scores("cat").get(0) ?? 0, Math.log(4 / 3), 1e-12)
  })
})

describe("the order", () => {
  it("fuses lists by 1 / (60 + rank)", () => {
    assert.deepStrictEqual(Rank.fused([0, 1, 2], [2]), [
      { place: 2, score: 1 / 63 + 1 / 61 }, { place: 0, score: 1 / 61 }, { place: 1, score: 1 / 62 }
    ])
  })

  it("is by age, by relevance and then age, or by both", () => {
    const relevance = new Map([[3, 5], [1, 2]])
    const places = (strategy: Rank.Strategy) => Rank.rank(strategy, 4, relevance).map(({ place }) => place)
    assert.deepStrictEqual(places("recent"), [0, 1, 2, 3])
    assert.deepStrictEqual(places("semantic"), [3, 1, 0, 2])
    assert.deepStrictEqual(places("hybrid"), [1, 3, 0, 2])
    assert.deepStrictEqual(Rank.rank("semantic", 2, new Map()).map(({ place }) => place), [0, 1])
  })

  const Case = Schema.Struct({
    strategy: Schema.Literals(["recent", "semantic", "hybrid"]),
    scores: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))).check(Schema.isMaxLength(40))
  })
  it.prop("has every entry once, the larger score first", [Arbitrary.schema(Case)], ([{ scores, strategy }]) => {
    const ranked = Rank.rank(strategy, scores.length, new Map(scores.flatMap((score, place) => score === 0 ? [] : [[place, score]])))
    assert.deepStrictEqual(ranked.map(({ place }) => place).sort((a, b) => a - b), scores.map((_, place) => place))
    for (let i = 1; i < ranked.length; i++) assert.isAtLeast(ranked[i - 1]?.score ?? 0, ranked[i]?.score ?? 0)
  }, { arbitrary: { size: 40, runs: 200 } })
})

describe("what is told", () => {
  const three = [entry("c", "gamma"), entry("b", "beta"), entry("a", "alpha")].map((one, i) => ({ ...one, createdAt: iso(now - i), updatedAt: iso(now - i) }))

  it("is all of it in the order in which it was stored, the same whatever is asked, while it fits", () => {
    const all = new Remembered(three)
    const text = all.text(null, () => assert.fail("asked"), settings(), now)
    assert.strictEqual(text, Context.textOf([...three].reverse()))
    assert.deepStrictEqual(linesOf(text), ["- [factual] a: alpha", "- [factual] b: beta", "- [factual] c: gamma"])
    assert.strictEqual(all.text(null, () => "", settings(), now), text)
  })

  it("is nothing without entries, without room, and after their time", () => {
    assert.isNull(new Remembered([]).text(null, () => "", settings(), now))
    assert.isNull(new Remembered(three).text(null, () => "", settings({ memoryMaxTokens: Context.headingTokens }), now))
    const ending = new Remembered([entry("a", "alpha", { expiresAt: iso(now + 10) }), entry("b", "beta", { updatedAt: iso(now - 86_400_000 + 20) })])
    const at = (ms: number, days = 1) => linesOf(ending.text(null, () => "", settings({ memoryRetentionDays: days }), ms))
    assert.deepStrictEqual(at(now), ["- [factual] a: alpha", "- [factual] b: beta"])
    assert.deepStrictEqual(at(now + 10), ["- [factual] b: beta"])
    assert.deepStrictEqual(at(now + 20), [])
    assert.deepStrictEqual(at(now + 20, 0), ["- [factual] b: beta"])
    assert.deepStrictEqual(at(now, 2), ["- [factual] a: alpha", "- [factual] b: beta"])
  })

  it("has entries of a session in that session only", () => {
    const all = new Remembered([entry("a", "alpha"), entry("b", "beta", { sessionId: "s" })])
    assert.deepStrictEqual(linesOf(all.text(null, () => "", settings(), now)), ["- [factual] a: alpha"])
    assert.deepStrictEqual(linesOf(all.text("s", () => "", settings(), now)), ["- [factual] a: alpha", "- [factual] b: beta"])
    assert.deepStrictEqual(linesOf(all.text("t", () => "", settings(), now)), ["- [factual] a: alpha"])
  })

  it("is one entry a line, whatever line breaks it has", () => {
    const [line] = linesOf(new Remembered([entry("a\nb", "one\ntwo\n")]).text(null, () => "", settings(), now))
    assert.strictEqual(line, "- [factual] a b: one")
    assert.strictEqual(Context.textOf([entry("a", "one\ntwo")]).split("\n").at(-1), "  two")
  })

  const Text = Schema.String.check(Schema.isMaxLength(200))
  const Case = Schema.Struct({
    texts: Schema.Array(Text).check(Schema.isMaxLength(30)), question: Text, most: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 400 })),
    strategy: Schema.Literals(["recent", "semantic", "hybrid"])
  })
  it.prop("never takes more than its tokens, leaves out nothing that fits, and is the same for the same question", [Arbitrary.schema(Case)], ([{ most, question, strategy, texts }]) => {
    const all = new Remembered(texts.map((text, i) => entry(`e${i}`, `x${text}`)))
    const wanted = settings({ memoryMaxTokens: most, memoryStrategy: strategy })
    const { ranked, text, tokens } = all.choose(null, question, wanted, now)
    assert.isAtMost(tokens, most)
    for (const { entry: { tokens: own }, fits } of ranked) if (!fits) assert.isAbove(Math.max(tokens, Context.headingTokens) + own, most)
    assert.strictEqual(ranked.length, texts.length)
    assert.strictEqual(all.choose(null, question, wanted, now).text, text)
    assert.strictEqual(all.text(null, () => question, wanted, now), text)
  }, { arbitrary: { size: 40, runs: 200 } })
})

describe("the question", () => {
  it("is the first thing that a user wrote, in every format", () => {
    const two = [{ role: "system", content: "rules" }, { role: "user", content: [{ type: "image_url" }, { type: "text", text: "first" }, { type: "text", text: "part" }] }, { role: "user", content: "second" }]
    assert.strictEqual(questionOf({ messages: two }), "first\npart")
    assert.strictEqual(questionOf({ input: "plain" }), "plain")
    assert.strictEqual(questionOf({ input: [{ type: "reasoning", role: "assistant" }, { role: "user", content: [{ type: "input_text", text: "typed" }] }] }), "typed")
    assert.strictEqual(questionOf({ contents: [{ role: "model", parts: [{ text: "no" }] }, { parts: [{ inlineData: {} }, { text: "said" }] }] }), "said")
    assert.strictEqual(questionOf({ prompt: "bare" }), "bare")
    assert.strictEqual(questionOf({ messages: [{ role: "user", content: "  " }, { role: "user", content: "x".repeat(3_000) }] }).length, 2_000)
    for (const body of [{}, { messages: null }, { messages: [null, 1, { role: "user" }] }, { input: {} }]) assert.strictEqual(questionOf(body), "")
  })
})
