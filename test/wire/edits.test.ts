/** Changes deep in a JSON document: in its parsed form and in its bytes, which must say the same. */
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Edits from "#src/wire/json/edits.ts"

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

describe("changes of a document", () => {
  it.prop("are the same in its bytes as in its parsed form, and no other value changes", [Arbitrary.schema(Case)], ([{ body, said, space }]) => {
    const bytes = Buffer.from(JSON.stringify(body, null, space))
    const read = JSON.parse(bytes.toString("utf8")) as Record<string, unknown>
    const paths: ReadonlyArray<ReadonlyArray<string | number>> = [
      ["nested", "a\"b"], ["model"],
      ...body.messages.flatMap(({ content }, i) => typeof content === "string" ? [["messages", i, "content"]] : (content ?? []).map((_, j) => ["messages", i, "content", j, "text"]))
    ]
    const changes = paths.map((path, i) => ({ path, to: `${said}${i}` }))
    expect(JSON.parse(String(Edits.bytesWith(bytes, read, changes)))).toEqual(Edits.documentWith(read, changes))
    expect(JSON.parse(JSON.stringify(body))).toEqual(read)
    expect([Edits.bytesWith(bytes, read, []), Edits.documentWith(read, [])]).toEqual([bytes, read])
  })

  it("leave every other byte as it was written", () => {
    const bytes = Buffer.from(' {"n":1.0 , "m" : [ {"c":"a\\u0062" } , {"c" :"old","i":12345678901234567890} ] , "\\u0061":"x"}')
    const changes = [{ path: ["m", 1, "c"], to: "n\"e\n" }, { path: ["a"], to: "y" }]
    expect(String(Edits.bytesWith(bytes, JSON.parse(String(bytes)), changes))).toBe(
      ' {"n":1.0 , "m" : [ {"c":"a\\u0062" } , {"c" :"n\\"e\\n","i":12345678901234567890} ] , "\\u0061":"y"}'
    )
  })
  it("write a document anew in which a name on the way is said twice: readers differ in which one they take", () => {
    const bytes = Buffer.from('{"m":{"c":"first"}, "m":{"c":"last"},"n":1.0}')
    expect(String(Edits.bytesWith(bytes, JSON.parse(String(bytes)), [{ path: ["m", "c"], to: "new" }]))).toBe('{"m":{"c":"new"},"n":1}')
  })
})
