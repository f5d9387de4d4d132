/** What of a model a conversation cannot do without: certain in any format, and never a guess. */
import { describe, expect } from "vitest"
import { it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Demands from "#src/routing/capabilities/demands.ts"

const opt = Schema.optionalKey(Schema.Json)
const Body = Schema.Struct({ messages: opt, input: opt, contents: opt, tools: opt, response_format: opt, text: opt, generationConfig: opt, format: opt })
const user = (content: unknown) => ({ messages: [{ role: "user", content }] })
const runs = { arbitrary: { runs: 200 } }

describe("the demands of a request", () => {
  it.prop("exist for any body, and media are found before as after it was read elsewhere", { body: Arbitrary.schema(Body) }, ({ body }) => {
    const demands = Demands.of(body)
    expect(demands).toEqual(Demands.of(body, Demands.mediaOf(body)))
    expect(Object.values(demands).every((value) => typeof value === "boolean")).toBe(true)
  }, runs)

  it.prop("never come from words", { texts: Arbitrary.schema(Schema.Array(Schema.String)) }, ({ texts }) => {
    expect(Demands.of({ ...user(texts.map((text) => ({ type: "text", text }))), instructions: texts.join(" ") })).toEqual(Demands.none)
  }, runs)

  it.prop("hold a picture wherever it stands among turns", { before: Arbitrary.schema(Schema.Array(Schema.String)), after: Arbitrary.schema(Schema.Array(Schema.String)) }, ({ after, before }) => {
    const said = (text: string) => ({ role: "user", content: text })
    const messages = [...before.map(said), { role: "user", content: [{ type: "image_url", image_url: { url: "u" } }] }, ...after.map(said)]
    expect(Demands.of({ messages })).toEqual({ ...Demands.none, vision: true })
  }, runs)

  it.each<readonly [string, Readonly<Record<string, unknown>>, Partial<Demands.Demands>]>([
    ["a sound of generateContent", { contents: [{ parts: [{ inline_data: { mime_type: "audio/wav", data: "" } }] }] }, { audio: true }],
    ["a picture that a function answered", { input: [{ type: "function_call_output", call_id: "1", output: [{ type: "input_image", image_url: "u" }] }] }, { vision: true }],
    ["pictures of the local model server", { messages: [{ role: "user", content: "", images: ["AA"] }] }, { vision: true }],
    ["no pictures", { messages: [{ role: "user", content: "", images: [] }] }, {}],
    ["a document", user([{ type: "document", source: { type: "base64", media_type: "application/pdf", data: "" } }]), {}],
    ["a schema of responses", { text: { format: { type: "json_schema", schema: {} } } }, { structuredOutput: true }],
    ["a schema of generateContent", { generationConfig: { responseSchema: { type: "OBJECT" } } }, { structuredOutput: true }],
    ["a schema of messages", { output_config: { format: { type: "json_schema", schema: {} } } }, { structuredOutput: true }],
    ["a schema of the local model server", { format: { type: "object" } }, { structuredOutput: true }],
    ["JSON of the local model server", { format: "json" }, {}],
    ["tools", { tools: [{ name: "a" }] }, { tools: true }]
  ])("%s", (_name, body, demanded) => {
    expect(Demands.of(body)).toEqual({ ...Demands.none, ...demanded })
  })
})
