import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { sample } from "#src/platform/accounting/tokens/textSample.ts"
import { KeptBytes } from "#src/wire/stream/KeptBytes.ts"
import { escape } from "#src/wire/stream/literal.ts"

const KEPT = 64 * 1024

const keep = (...texts: ReadonlyArray<string>): string => {
  const kept = new KeptBytes()
  for (const text of texts) {
    const head = 'data: {"content":"'
    const event = Buffer.from(`${head}${text}"}\n\n`)
    kept.add(event, head.length, event.length - 4)
  }
  return kept.text()
}

describe("the text kept of a stream", () => {
  it("is what was said, unescaped", () => {
    assert.strictEqual(keep(), "")
    assert.strictEqual(keep("", "Grüße ", escape("\"🌍\"\n"), "x".repeat(1000)), `Grüße "🌍"\n${"x".repeat(1000)}`)
  })

  it("has its whole length however much there was, in one string or in many", () => {
    const words = "all work and no play ".repeat(50)
    for (const texts of [Array.from({ length: 4_000 }, () => words), [words.repeat(4_000)]]) {
      const text = keep(...texts)
      assert.approximately(text.length, 4_000 * words.length, 2)
      assert.isTrue(words.repeat(100).startsWith(text.slice(0, KEPT)))
      // What a count is taken of is text, and it stands for all of it.
      const { factor, text: sampled } = sample(text)
      assert.notInclude(sampled, "  ")
      assert.approximately(sampled.length * factor, text.length, 1)
    }
  })

  it.prop("ends between two characters, wherever the limit falls", {
    unit: Arbitrary.schema(Schema.Literals(["é", "🌍", "\\\\", "\\\\\\\"", "\\n", "\\u00e9", "\\ud83c\\udf0d", "a\\\\\\\\"])),
    before: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 24 })))
  }, ({ before, unit }) => {
    const said = "x".repeat(before) + unit.repeat(30_000)
    const whole = JSON.parse(`"${said}"`) as string
    const kept = keep(said).replace(/ +$/, "")
    assert.isAbove(Buffer.byteLength(escape(kept)), KEPT / 4)
    assert.isTrue(whole.startsWith(kept))
    assert.notInclude(kept, "\ufffd")
  })
})
