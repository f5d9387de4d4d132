/** The members of an object are found as ranges, whatever their values hold. */
import { describe, expect, it } from "vitest"
import * as Members from "#src/wire/json/members.ts"
import { chance } from "#test/support/chance.ts"

const names = ["a", "type", "payload", "\"quoted\"", "back\\slash", "line\nbreak", "höher", "", "}", "{\"a\":1}"]
const texts = ["", "x", "a \"quote\"", "\\", "\\\"", "]}", "{\"a\":[1]}", "line\nbreak", "\u2028", "💥"]

const someValue = ({ below, one }: ReturnType<typeof chance>, depth = 0): unknown => {
  switch (below(depth > 3 ? 4 : 6)) {
    case 0: return one(texts)
    case 1: return below(1_000_000) / 7
    case 2: return one([null, true, false])
    case 3: return one([[], {}])
    case 4: return Array.from({ length: below(4) }, () => someValue({ below, one, seed: 0 }, depth + 1))
    default: return Object.fromEntries(Array.from({ length: below(4) }, () => [one(names), someValue({ below, one, seed: 0 }, depth + 1)]))
  }
}

const someRecord = (random: ReturnType<typeof chance>) => Object.fromEntries(names.filter(() => random.below(2) === 0).map((name) => [name, someValue(random)]))

describe("members of an object", () => {
  it("are its values, with any spacing, and are written as what they were read from", () => {
    const random = chance()
    for (let run = 0; run < 500; run++) {
      const value = someRecord(random)
      const found = Members.of(Buffer.from(JSON.stringify(value, null, random.one([undefined, 1, "\t"]))))
      const seen = [...found ?? []].map(([name, bytes]) => [name, JSON.parse(bytes.toString("utf8")) as unknown])
      expect(Object.fromEntries(seen), `seed ${random.seed}`).toEqual(value)
      const text = JSON.stringify(value)
      expect(Members.write(Members.of(Buffer.from(text)) ?? []).toString("utf8"), `seed ${random.seed}`).toBe(text)
    }
  })

  it.each(["", "[]", "1", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,}", "{a:1}", "{\"a\":1} x", "{\"a\" 1}", "nonsense"])("of %j are none", (text) => {
    expect(Members.of(Buffer.from(text))).toBeNull()
  })

  it("of damaged text never throw", () => {
    const random = chance()
    for (let run = 0; run < 2_000; run++) {
      const bytes = Buffer.from(JSON.stringify(someRecord(random)))
      for (let cuts = random.below(3); cuts >= 0; cuts--) bytes[random.below(bytes.length)] = random.below(256)
      const found = Members.of(bytes)
      expect(found === null || found instanceof Map, `seed ${random.seed}`).toBe(true)
    }
  })

  it("are texts as JSON reads them, and nothing else is one", () => {
    const random = chance()
    const characters = [...Array.from({ length: 0x80 }, (_, code) => String.fromCharCode(code)), "é", "💥", "\\n", "\\u0041", "\\\""]
    for (let run = 0; run < 2_000; run++) {
      const json = `"${Array.from({ length: random.below(80) }, () => random.one(characters)).join("")}"`
      let expected: unknown = null
      try {
        expected = JSON.parse(json)
      } catch { /* no JSON */ }
      expect(Members.text(Buffer.from(json)), `seed ${random.seed}: ${json}`).toBe(expected)
    }
    for (const json of ["", "\"", "\"a", "a\"", "1", "null", "{}", "\"a\"b\""]) expect(Members.text(Buffer.from(json)), json).toBeNull()
  })
})
