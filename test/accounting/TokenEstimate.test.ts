import { assert, describe, it } from "@effect/vitest"
import { countTokens } from "gpt-tokenizer/encoding/o200k_base"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as BoundedCount from "#src/platform/accounting/boundedCount.ts"
import { sample } from "#src/platform/accounting/tokens/textSample.ts"
import * as TokenEstimate from "#src/platform/accounting/tokens/TokenEstimate.ts"

const prose = Array.from({ length: 3000 }, (_, i) => `Sentence ${i} tells of brown foxes, (lazy) dogs & naïve cafés.`).join(" ")

/** Waits for the worker by asking it, never by the clock. */
const ready = (tokens: TokenEstimate.TokenEstimate) =>
  Effect.callback<void>((resume) => {
    tokens.preload()
    const look = (): void => tokens.ready ? resume(Effect.void) : void setImmediate(look)
    look()
  })

describe("TokenEstimate", () => {
  it.live("counts like the tokenizer", () =>
    Effect.gen(function*() {
      const tokens = new TokenEstimate.TokenEstimate({ now: () => 0, waitMs: 10_000 })
      yield* ready(tokens)
      for (const text of ["hello", "日本語のテキスト", prose.slice(0, 8000), "<|endoftext|> is text", "\ud800 half a pair"]) {
        assert.strictEqual(tokens.estimate(text), BoundedCount.count(text.toWellFormed(), (piece) => countTokens(piece, BoundedCount.asText)), text.slice(0, 30))
      }
      assert.strictEqual(tokens.guessed, 0)
      tokens.close()
    }))

  it.live("extrapolates a long text to within a few per cent, and blanks that stand for dropped text", () =>
    Effect.gen(function*() {
      const tokens = new TokenEstimate.TokenEstimate({ now: () => 0, waitMs: 10_000 })
      yield* ready(tokens)
      const exact = countTokens(prose)
      assert.approximately(tokens.estimate(prose), exact, exact * 0.03)
      const half = prose.slice(0, prose.length / 2)
      assert.approximately(tokens.estimate(half + " ".repeat(half.length)), exact, exact * 0.04)
      tokens.close()
    }))

  it("guesses by characters while the tokenizer is not there, and never waits beyond its budget", () => {
    let now = 0
    const tokens = new TokenEstimate.TokenEstimate({ now: () => now++ })
    assert.strictEqual(tokens.estimate("abcdefgh"), 2)
    assert.strictEqual(tokens.estimate(""), 0)
    assert.strictEqual(tokens.guessed, 1)
    tokens.close()
  })

  it.prop("is at least one for any text and bounded by its length", [Schema.String], ([text]) => {
    const tokens = TokenEstimate.byCharacters(text)
    assert.isTrue(text.length === 0 ? tokens === 0 : tokens >= 1 && tokens <= text.length)
    if (text.length === 0) return
    const { factor, text: part } = sample(text)
    assert.approximately(part.length * factor, text.length, 1)
  })
})

describe("boundedCount", () => {
  it("agrees with the tokenizer on prose, whole", () => {
    assert.strictEqual(BoundedCount.count(prose, (piece) => countTokens(piece)), countTokens(prose))
  })

  it("never hands the tokenizer a long run", () => {
    for (const text of [" ".repeat(100_000), "x".repeat(100_000), "😀".repeat(20_000), "\n".repeat(50_000)]) {
      const pieces: Array<string> = []
      BoundedCount.count(text, (piece) => pieces.push(piece))
      assert.strictEqual(pieces.join(""), text)
      assert.isTrue(pieces.every((piece) => piece.length <= 1280 && piece.isWellFormed()))
    }
  })
})
