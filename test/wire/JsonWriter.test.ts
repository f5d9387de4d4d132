import { describe, expect, it } from "vitest"
import * as Formats from "#src/wire/formats.ts"
import { JsonWriter } from "#src/wire/json/JsonWriter.ts"
import type { TargetTraits } from "#src/wire/WireFormat.ts"

describe("values with JSON texts in them", () => {
  it("hold each text as it is, in any order, beside any other text", () => {
    const json = new JsonWriter()
    const [first, second, third] = ['{"id":12345678901234567890}', '{"a": "$& $1 \\" ;"}', "[1.0, 2e3]"].map((text) => json.text(text))
    expect(json.write([third, { text: 'say "$&"', input: first }, [second, null], "n0;"])).toBe(
      '[[1.0, 2e3],{"text":"say \\"$&\\"","input":{"id":12345678901234567890}},[{"a": "$& $1 \\" ;"},null],"n0;"]'
    )
  })

  it("are plain JSON without any", () => {
    expect(new JsonWriter().write({ a: [1, undefined], b: undefined })).toBe('{"a":[1,null]}')
  })
})

const traits: TargetTraits = { model: "target", stream: true, maxOutputTokens: 8192, reasoning: false, streamOptions: true, previousResponseId: "auto" }

describe.each(["messages", "generateContent", "local-model-server"] as const)("a call's arguments to %s", (family) => {
  it.each(['{"id":12345678901234567890}', '{"id":1.0,"text":"$& \\" ; \\u0041"}', '{"id":1,"id":2}'])("keep the spelling of %s", (args) => {
    const conversation = Formats.clients[0]!.decodeRequest({
      model: "m", messages: [
        { role: "user", content: "go" },
        ...["a", "b"].flatMap((id) => [
          { role: "assistant", content: "$1", tool_calls: [{ id, type: "function", function: { name: "read", arguments: id === "a" ? '{"first":1}' : args } }] },
          { role: "tool", tool_call_id: id, content: 'done "$&"' }
        ])
      ]
    })
    if ("_tag" in conversation) throw conversation
    const encoded = Formats.family(family).encodeRequest(conversation, traits)
    if ("_tag" in encoded) throw encoded
    const places = ['{"first":1}', args].map((text) => encoded.body.indexOf(`:${text}`))
    expect(places.every((place, i) => place > (places[i - 1] ?? 0))).toBe(true)
    expect(() => JSON.parse(encoded.body) as unknown).not.toThrow()
    expect(encoded.body).not.toContain("gatewayJson")
  })
})
