import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { compile } from "#src/routing/combos/linearRegex.ts"
import { cpuMs } from "#test/support/late.ts"

const matches = (pattern: string, text: string): boolean | string => {
  const compiled = compile(pattern)
  return compiled._tag === "Refused" ? compiled.message : compiled.matches(text)
}

const texts = ["", "a", "b", "aa", "ab", "ba", "aab", "abab", "a-b", "A_1", "get_weather", "a\nb", "-", " ", "x.y", "}", "\b", "é"]

describe("patterns in linear time", () => {
  it("say what RegExp says", () => {
    const patterns = [
      "", "a", "^a", "b$", "^ab$", "a|b", "^(a|ab)(b|)$", "a*", "^a+$", "^a?b", "^(?:ab){2}$", "^a{1,2}$", "^a{2,}", "^(?<n>a)b", "[a-c]b", "[^a]", "[]", "[^]",
      "[-a]", "[a-]", "[a\\-z]", "[\\d-z]", "[\\w.]$", "\\.", "\\bb", "b\\B", "\\s", "\\S+$", "^\\w+$", "^\\W", "\\x61", "\\u0062", "[\\b]", "}", "]", "^get_(?:weather|time)$",
      "a*?b", "(a*)*$", "(a|a)*b", "^$", "a{0}b", "\\/", "[.]", "(|a)+b", "(?:)*a", "^[b-dxa-c]+$", "^[^b-da]$", "[\\wa-c.é]$", "\\D", "[\\x61-\\x62]{2}", "^[^\\s]+$", ".", "^a.b$"
    ]
    for (const pattern of patterns) {
      for (const text of texts) assert.strictEqual(matches(pattern, text), new RegExp(pattern).test(text), `${pattern} on ${JSON.stringify(text)}`)
    }
  })

  it("refuse what cannot be matched so, or is no pattern", () => {
    for (const pattern of ["(a)\\1", "(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?i:a)", "\\k<n>", "(", ")", "[a", "*a", "a**", "a{2,1}", "[b-a]", "\\", "a{", "^*", "\\q", "a{1,999999}", "(((a{99}){99}){99}){99}", `${"(".repeat(60)}${")".repeat(60)}`]) {
      assert.isString(matches(pattern, "a"), pattern)
    }
  })

  it("take no longer to refuse what repeats nothing ever so often", () => {
    assert.isBelow(cpuMs(() => {
      for (const pattern of ["((){9999}){9999}", "(?:(?:a{0}){9999}){9999,}", "((|){0}){999999}"]) assert.match(String(matches(pattern, "a")), /too large/, pattern)
    }), 1_000)
    assert.isTrue(matches("(){999}a", "a"))
  })

  it("take no longer for hostile patterns", () => {
    const text = `${"a".repeat(999)}`
    const hostile = ["^(a+)+$b", "(a|a)*b", "(a*)*b", "^(a|aa)+$c", "a*a*a*a*a*a*a*b", "(.*)*(.*)*x"]
    assert.isBelow(cpuMs(() => {
      for (const pattern of hostile) assert.isFalse(matches(pattern, text), pattern)
    }), 2_000)
    assert.isFalse(matches("a", "a".repeat(1_001)))
  })

  it("of many instructions are asked of shorter texts", () => {
    const on = (pattern: string, length: number): boolean => {
      const compiled = compile(pattern, 100_000)
      return compiled._tag === "Pattern" && compiled.matches(`${"a".repeat(length - 1)}b`)
    }
    assert.deepStrictEqual([on("^a+b$", 100_000), on("^(a?){400}a*b$", 4_000)], [true, true])
    assert.isBelow(cpuMs(() => assert.isFalse(on("^(a?){400}a*b$", 100_000))), 500)
  })

  const Atom = Schema.Literals(["a", "b", "[ab]", "[^a]", ".", "(a|b)", "(ab|a)", "\\b", "^", "$", "|", "(a*)", "\\w"])
  const Times = Schema.Literals(["", "", "", "*", "+", "?", "{2}", "{0,2}", "*?"])
  const Piece = Schema.Tuple([Atom, Times])
  it.prop("agree with RegExp on any small pattern", {
    pieces: Arbitrary.schema(Schema.Array(Piece).check(Schema.isMaxLength(6))),
    letters: Arbitrary.schema(Schema.Array(Schema.Literals(["a", "b", "c", " "])).check(Schema.isMaxLength(8)))
  }, ({ letters, pieces }) => {
    const pattern = pieces.map(([atom, times]) => ["\\b", "^", "$", "|"].includes(atom) ? atom : atom + times).join("")
    assert.strictEqual(matches(pattern, letters.join("")), new RegExp(pattern).test(letters.join("")), pattern)
  }, { arbitrary: { runs: 400 } })

  it.prop("never throw", { pattern: Arbitrary.schema(Schema.String), text: Arbitrary.schema(Schema.String) }, ({ pattern, text }) => {
    const answer = matches(pattern, text)
    if (typeof answer === "boolean") assert.strictEqual(answer, new RegExp(pattern).test(text), pattern)
  })
})
