/** New texts in a JSON document: by its parsed form and by its bytes, which must say the same. */
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Texts from "#src/wire/json/texts.ts"

const text = Schema.String.check(Schema.isMaxLength(8))
const Case = Schema.Struct({
  space: Schema.Literals(["", " ", "\t"]),
  said: text,
  body: Schema.Struct({
    model: text,
    messages: Schema.Array(Schema.Struct({ role: text, content: Schema.Union([text, Schema.Null, Schema.Array(Schema.Struct({ type: text, text, n: Schema.Finite }))]) })),
    nested: Schema.Struct({ messages: Schema.Array(text), "a\"b": text })
  })
})

describe("new texts of a document", () => {
  it.prop("are the same in its bytes as in its parsed form, and no other value changes", [Arbitrary.schema(Case)], ([{ body, said, space }]) => {
    const bytes = Buffer.from(JSON.stringify(body, null, space))
    const read = JSON.parse(bytes.toString("utf8")) as Record<string, unknown>
    const paths: ReadonlyArray<ReadonlyArray<string | number>> = [
      ["nested", "a\"b"], ["model"], ["absent", 3], ["nested", "messages", 1], ["messages", 0, "content", 0, "n"],
      ...body.messages.flatMap(({ content }, i) => typeof content === "string" ? [["messages", i, "content"]] : (content ?? []).map((_, j) => ["messages", i, "content", j, "text"]))
    ]
    const texts = paths.map((path, i) => ({ path, text: `${said}${i}` }))
    expect(JSON.parse(String(Texts.inBytes(bytes, texts)))).toEqual(Texts.ofBody(read, texts))
    expect(JSON.parse(JSON.stringify(body))).toEqual(read)
    expect(String(Texts.inBytes(bytes, []))).toBe(String(bytes))
  })

  it("leave every other byte as it was written", () => {
    const bytes = Buffer.from(' {"n":1.0 , "m" : [ {"c":"a\\u0062" } , {"c" :"old","i":12345678901234567890} ] , "\\u0061":"x"}')
    expect(String(Texts.inBytes(bytes, [{ path: ["m", 1, "c"], text: "n\"e\n" }, { path: ["a"], text: "y" }]))).toBe(
      ' {"n":1.0 , "m" : [ {"c":"a\\u0062" } , {"c" :"n\\"e\\n","i":12345678901234567890} ] , "\\u0061":"y"}'
    )
  })
})
