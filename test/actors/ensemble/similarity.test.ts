import { describe, expect } from "vitest"
import { it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { agreement, jaccard, wordsOf } from "#actors/ensemble/similarity.ts"

const Text = Schema.String
const Texts = Schema.Array(Schema.Literals(["red apple", "green apple", "red, red Apple!", "", "pear"])).check(Schema.isMaxLength(6))

describe("the similarity of answers", () => {
  it("is of words, whatever their case and punctuation", () => {
    expect([...wordsOf("The answer: FOUR, the “Äpfel”!")]).toEqual(["the", "answer", "four", "äpfel"])
    expect(jaccard(wordsOf("a b c"), wordsOf("b c d"))).toBe(0.5)
    expect(jaccard(wordsOf(""), wordsOf("!"))).toBe(1)
    expect(jaccard(wordsOf("a"), wordsOf(""))).toBe(0)
  })

  it.prop("lies between 0 and 1, is the same both ways, and 1 with itself", [Arbitrary.schema(Text), Arbitrary.schema(Text)], ([a, b]) => {
    const [x, y] = [wordsOf(a), wordsOf(b)]
    const similarity = jaccard(x, y)
    expect(similarity).toBeGreaterThanOrEqual(0)
    expect(similarity).toBeLessThanOrEqual(1)
    expect(jaccard(y, x)).toBe(similarity)
    expect(jaccard(x, x)).toBe(1)
  })

  it.prop("a panel agrees as much as those two who agree least, in any order", [Arbitrary.schema(Texts)], ([texts]) => {
    const pairs = texts.flatMap((one, i) => texts.slice(i + 1).map((other) => jaccard(wordsOf(one), wordsOf(other))))
    expect(agreement(texts)).toBe(Math.min(1, ...pairs))
    expect(agreement(texts.toReversed())).toBe(agreement(texts))
  })
})
