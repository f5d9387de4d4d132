/** The gateway's own words in a body: by its parsed form and by its bytes, which must say the same. */
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as SystemPrompt from "#src/inference/conversations/words/systemPrompt.ts"
import * as Lists from "#src/wire/json/lists.ts"
import * as Splice from "#src/wire/json/splice.ts"

const text = Schema.String.check(Schema.isMaxLength(12))
const block = Schema.Struct({ type: Schema.Literal("text"), text })
const message = Schema.Struct({ role: Schema.Literals(["system", "developer", "user", "assistant"]), content: Schema.Union([text, Schema.Array(block)]) })
const opt = Schema.optionalKey
const Case = Schema.Struct({
  format: Schema.Literals(["chat-completions", "completions", "messages", "responses", "generateContent", "local-model-server"]),
  prompt: Schema.Struct({ before: text, after: text }),
  space: Schema.Literals(["", " ", "\t"]),
  body: Schema.Struct({
    model: text,
    messages: opt(Schema.Array(message)),
    system: opt(Schema.Union([text, Schema.Array(block)])),
    instructions: opt(Schema.NullOr(text)),
    input: opt(Schema.Union([text, Schema.Array(message)])),
    prompt: opt(Schema.Union([text, Schema.Array(text)])),
    systemInstruction: opt(Schema.Union([text, Schema.Struct({ parts: Schema.Array(Schema.Struct({ text })) })])),
    nested: opt(Schema.Struct({ messages: Schema.Array(text) }))
  })
})

describe("the gateway's own words in a body", () => {
  it.prop("are the same in its bytes as in its parsed form, whatever the body and its spaces", [Arbitrary.schema(Case)], ([{ body, format, prompt, space }]) => {
    const bytes = Buffer.from(JSON.stringify(body, null, space))
    const read = JSON.parse(bytes.toString("utf8")) as Record<string, unknown>
    const edited = Splice.edit(bytes, read, SystemPrompt.editsOf(prompt, format, bytes, read))
    expect(JSON.parse(String(edited))).toEqual(JSON.parse(JSON.stringify(SystemPrompt.ofBody(prompt, format, read))))
  })

  it("leave every item of a list as it was written", () => {
    const bytes = Buffer.from('{"messages" : [ {"role":"system","content":"a\\u0062"} , {"id":12345678901234567890,"role":"user"} ] }')
    const parsed = JSON.parse(bytes.toString()) as Record<string, unknown>
    const said = Splice.edit(bytes, parsed, SystemPrompt.editsOf({ before: "B", after: "A" }, "local-model-server", bytes, parsed))
    expect(String(said)).toBe(
      '{"messages" : [ {"role":"system","content":"B"},{"role":"system","content":"a\\u0062"} , {"role":"system","content":"A"},{"id":12345678901234567890,"role":"user"} ] }'
    )
    const end = Lists.insertedInto(Buffer.from('{"l":[1 , 2 ]}'), { l: [1, 2] }, "l", [{ at: 0, item: 0 }, { at: 0, item: 0.5 }, { at: 2, item: 3 }])
    expect(end).toBe("[0,0.5,1 , 2,3 ]")
  })

  it("are null without a text, and each text stands once; blanks are none", () => {
    const of = (systemPrompt: unknown, more: Record<string, unknown> = {}) => SystemPrompt.of(new Map(Object.entries({ systemPrompt, ...more })))
    expect(of({ enabled: false, prefixPrompt: "a" })).toBeNull()
    expect(of({ enabled: true, prefixPrompt: " \n", prompt: "", suffixPrompt: "" })).toBeNull()
    expect(of("text")).toBeNull()
    expect(of({ enabled: true, prefixPrompt: "a", prompt: "b", suffixPrompt: "a" }, { customSystemPromptEnabled: true, customSystemPrompt: "c" })).toEqual({ before: "a", after: "b\n\nc" })
    expect(of(undefined, { customSystemPromptEnabled: true, customSystemPrompt: "c" })).toEqual({ before: "", after: "c" })
    expect(of(undefined, { customSystemPrompt: "c" })).toBeNull()
  })
})
