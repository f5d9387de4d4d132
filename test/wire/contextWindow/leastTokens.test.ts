/** The lower bound of a text's tokens holds for every text, and is no idle one for the texts that people send. */
import { describe, expect } from "vitest"
import { it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as cl100k from "gpt-tokenizer/encoding/cl100k_base"
import * as o200k from "gpt-tokenizer/encoding/o200k_base"
import * as r50k from "gpt-tokenizer/encoding/r50k_base"
import { CHARACTERS_PER_TOKEN, leastTokens } from "#src/wire/contextWindow/leastTokens.ts"

const asText = { disallowedSpecial: new Set<string>() }
const vocabularies = [["r50k", r50k, 50_256], ["cl100k", cl100k, 100_256], ["o200k", o200k, 199_998]] as const

const wordOf = (encoding: typeof o200k, id: number): string => {
  try {
    return encoding.decode([id]).replaceAll("\ufffd", "")
  } catch {
    // A number without a token.
    return ""
  }
}

describe.each(vocabularies)("the vocabulary %s", (_name, encoding, size) => {
  it("has no token that is worth more than one, wherever it stands", () => {
    const over: Array<string> = []
    for (let id = 0; id < size; id++) {
      const word = wordOf(encoding as typeof o200k, id)
      // In front of it a blank, which is in the token before.
      if (word !== "" && leastTokens(` ${word}`) > 1) over.push(word)
    }
    expect(over).toEqual([])
  })

  it("cuts no text of its own tokens into fewer than the bound, in any order and number", () => {
    // A simple generator, so that a failure can be repeated.
    let state = 12_345
    const next = (below: number): number => (state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) % below
    for (let round = 0; round < 300; round++) {
      const words = Array.from({ length: 1 + next(4) }, () => wordOf(encoding as typeof o200k, next(size)))
      const text = words.join("").repeat(1 + next(12)).slice(0, 2_000)
      const counted = encoding.countTokens(text, asText)
      if (leastTokens(text) > counted) expect([text, leastTokens(text)]).toEqual([text, counted])
    }
  })
})

const Piece = Schema.Literals([
  "a", " ", "\n", "\t", "-", "=-", "\"", "{\"", "0", "漢", "字、", "ä", "é", "word ", "internationalization", "\ud83d\ude80", "\ud83d", "\u2500", "\r\n", "'s", "Жизнь "
])
const Run = Schema.Struct({ piece: Piece, times: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 60 })) })

it.prop("any heap of runs has at least so many tokens, and so many characters for each", { runs: Arbitrary.schema(Schema.Array(Run).check(Schema.isMaxLength(12))) }, ({ runs }) => {
  const text = runs.map(({ piece, times }) => piece.repeat(times)).join("")
  const least = leastTokens(text)
  expect(least).toBeLessThanOrEqual(o200k.countTokens(text, asText))
  expect(least).toBeLessThanOrEqual(cl100k.countTokens(text, asText))
  expect(least).toBeLessThanOrEqual(text.length / CHARACTERS_PER_TOKEN)
})

it.prop("any text has at least so many tokens, and a longer one no fewer", { a: Schema.String, b: Schema.String }, ({ a, b }) => {
  expect(leastTokens(a)).toBeLessThanOrEqual(o200k.countTokens(a, asText))
  expect(leastTokens(`${a}\n${b}`)).toBeGreaterThanOrEqual(leastTokens(a))
})

it.each([
  ["English", "The gateway refuses a request whose prompt certainly does not fit the window of its model. ", 0.4],
  ["German", "Die Anfrage wird abgelehnt, wenn sie sicher nicht in das Fenster des Modells passt. ", 0.3],
  ["code", "  const window = windows.get(target)\n  if (window === undefined) return null\n", 0.25],
  ["Chinese", "网关会拒绝肯定放不进模型窗口的请求。", 0.07]
])("%s is worth a good part of its tokens", (_language, text, share) => {
  const long = text.repeat(20)
  expect(leastTokens(long) / o200k.countTokens(long, asText)).toBeGreaterThan(share)
})

it.each([["blanks", " "], ["lines", "\n"], ["indentation", "\n\t\t    "]])("long runs of %s are worth nothing", (_what, run) => {
  expect(leastTokens(run.repeat(100_000))).toBe(0)
})
