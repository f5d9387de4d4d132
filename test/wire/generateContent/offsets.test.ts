import { describe, expect } from "vitest"
import { it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { byteAt, characterAt, GrowingText } from "#src/wire/generateContent/offsets.ts"
import { escape, lengthOf } from "#src/wire/stream/literal.ts"

const Letter = Schema.Literals(["a", "é", "日", "\u{1F600}", "\ud83d", "\n", "\"", "\\", "\u0001"])
/** Longer than what lies between two known places. */
const long = (letters: ReadonlyArray<string>): string => letters.join("").repeat(300)

describe("a place in a text", () => {
  it.prop("is the same by bytes and by characters as if the text before it was counted", { letters: Schema.Array(Letter).check(Schema.isMaxLength(12)), at: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 6_000 })) }, ({ at, letters }) => {
    const text = long(letters)
    const bytes = Buffer.from(text)
    expect([byteAt(text)(at), characterAt(text)(at)]).toEqual([Buffer.byteLength(text.slice(0, at)), bytes.toString("utf8", 0, at).length])
  })

  it.prop("is the same in a text that grows, asked between its pieces", {
    pieces: Schema.Array(Schema.Array(Letter).check(Schema.isMaxLength(4))).check(Schema.isMaxLength(6)), at: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9_000 }))
  }, ({ at, pieces }) => {
    const growing = new GrowingText()
    let text = ""
    for (const piece of pieces.map(long)) {
      growing.push(escape(piece))
      text += piece
      // Half a letter at the end is not looked at before its other half came.
      const seen = /[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text
      expect(growing.characterAt(at)).toBe(Buffer.from(seen).toString("utf8", 0, at).length)
    }
  })

  it("is found in every letter", () => {
    const text = "a日é\u{1F600}".repeat(400)
    const bytes = Buffer.from(text)
    const [byte, character] = [byteAt(text), characterAt(text)]
    for (let at = 0; at < bytes.length + 2; at++) {
      expect([byte(at), character(at)]).toEqual([Buffer.byteLength(text.slice(0, at)), bytes.toString("utf8", 0, at).length])
    }
  })
})

it.each(["plain", "é"])("a place that is none is what a cut there leaves: %j", (letters) => {
  const text = letters.repeat(700)
  for (const at of [-5, 1.5, 1_500.5, Number.NaN, 1e9]) expect(byteAt(text)(at)).toBe(Buffer.byteLength(text.slice(0, at)))
})

describe("a literal", () => {
  it.prop("is as long as its plain text", { letters: Schema.Array(Letter) }, ({ letters }) => {
    expect(lengthOf(escape(letters.join("")))).toBe(letters.join("").length)
  })
})
