import * as Result from "effect/Result"
import { describe, expect, it } from "@effect/vitest"
import { PublicError } from "#schemas/errors.ts"
import { compose } from "#src/simulator/answers.ts"
import type { SimulatedCall } from "#src/simulator/formats/Format.ts"
import { responses } from "#src/simulator/formats/responses/responses.ts"
import type { Script } from "#src/simulator/Script.ts"
import { client, upstream } from "#src/wire/responses/index.ts"
import { decoded, fixtures, parsed, request, tapped, traits } from "./support.ts"

const read = (body: Record<string, unknown>) => responses.read(body, { path: "/v1/responses", query: "", headers: {} })
const refusal = (body: Record<string, unknown>): string | null => {
  const result = read({ model: "m", ...body })
  return Result.isFailure(result) ? result.failure.message : null
}
const call = (body: Record<string, unknown>): SimulatedCall => {
  const result = read(body)
  if (Result.isFailure(result)) throw new Error(result.failure.message)
  return result.success
}
const streamed = (body: Record<string, unknown>, script: Script): Buffer => {
  const asked = call({ model: "m", input: "x", ...body })
  return Buffer.from([...responses.events(asked, compose(asked, script, "1", 0))].map((event) => `event: ${event.event}\ndata: ${event.data}\n\n`).join(""))
}

describe("the simulator of the responses format", () => {
  for (const { bytes, name } of fixtures("requests")) {
    const body = parsed(bytes)
    it(`takes ${name} as it would be encoded`, () => {
      const conversation = client.decodeRequest(body)
      if (conversation instanceof PublicError) throw new Error(conversation.message)
      for (const reasoning of [true, false, null]) {
        const encoded = upstream.encodeRequest(conversation, traits({ reasoning }))
        if (encoded instanceof PublicError) throw new Error(encoded.message)
        // A field that the client made up is refused by the vendor too.
        const { brand_new: _, ...sent } = parsed(encoded.body)
        expect(refusal(sent), encoded.body).toBe(null)
      }
    })
  }

  it("refuses what the vendor refuses", () => {
    const f = { type: "function", name: "f", parameters: { type: "object", properties: {} } }
    const user = { role: "user", content: "x" }
    const calls = { type: "function_call", call_id: "c", name: "f", arguments: "{}" }
    const rows: ReadonlyArray<readonly [Record<string, unknown>, RegExp]> = [
      [{}, /Missing required parameter: 'input'/], [{ input: [] }, /empty array/], [{ input: "x", stop: ["a"] }, /Unknown parameter: 'stop'/],
      [{ input: [{ role: "assistant", content: [{ type: "input_text", text: "x" }] }] }, /Invalid value: 'input_text'/],
      [{ input: [{ role: "user", content: [{ type: "output_text", text: "x" }] }] }, /Invalid value: 'output_text'/],
      [{ input: [{ role: "user", content: [{ type: "input_image", image_url: "data:image/png;base64," }] }] }, /Expected a valid URL/],
      [{ input: [{ role: "user", content: [{ type: "input_file", file_data: "data:application/pdf;base64,AA==" }] }] }, /filename/],
      [{ input: [{ role: "user", content: [{ type: "input_file", file_id: "a", file_url: "b" }] }] }, /exactly one/],
      [{ input: [calls] }, /No tool output found/], [{ input: [user, { type: "function_call_output", call_id: "c", output: "x" }] }, /No tool call found/],
      [{ input: [calls, { type: "custom_tool_call_output", call_id: "c", output: "x" }] }, /No tool call found/],
      [{ input: [{ ...calls, call_id: "c".repeat(65) }] }, /too long/], [{ input: [{ ...calls, id: "call_1" }] }, /begins with 'fc'/], [{ input: [{ ...calls, name: "a.b" }] }, /does not match pattern/],
      [{ input: [{ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAAx" }, user] }, /required following item/],
      [{ input: [{ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "sealed" }, calls] }, /could not be verified/],
      [{ input: [{ type: "reasoning", id: "rs_1", summary: [] }, calls], store: false }, /not persisted/], [{ input: [{ type: "reasoning", summary: [] }, calls] }, /input\[0\]\.id/],
      [{ input: "x", max_output_tokens: 15 }, />= 16/], [{ input: "x", temperature: 3 }, /<= 2/], [{ input: "x", service_tier: "gold" }, /gold/], [{ input: "x", metadata: { a: 1 } }, /metadata\.a/],
      [{ input: "x", reasoning: { effort: "huge" } }, /huge/], [{ input: "x", include: ["all"] }, /all/], [{ input: "x", stream_options: {} }, /stream_options/],
      [{ input: "x", text: { format: { type: "json_object" } } }, /contain the word 'json'/], [{ input: "x", text: { format: { type: "json_schema", name: "a b", schema: {} } } }, /does not match/],
      [{ input: "x", text: { format: { type: "json_schema", name: "a", strict: true, schema: { type: "object", properties: {} } } } }, /additionalProperties/],
      [{ input: "x", tools: [{ ...f, parameters: { type: "object" } }] }, /missing properties/], [{ input: "x", tools: [{ ...f, name: "a b" }] }, /does not match/],
      [{ input: "x", tools: [{ type: "google_search" }] }, /google_search/], [{ input: "x", tool_choice: "required" }, /must be specified with 'tools'/],
      [{ input: "x", tools: [f], tool_choice: { type: "function", name: "g" } }, /not found/], [{ input: "x", previous_response_id: "x" }, /begins with 'resp'/]
    ]
    for (const [body, words] of rows) expect(refusal(body) ?? "taken", JSON.stringify(body)).toMatch(words)
  })

  it("answers reasoning, refusals, log probabilities and custom calls in the vendor's shapes", () => {
    expect(decoded([streamed({ include: ["reasoning.encrypted_content"] }, { reasoning: "deep", text: "a" })]).events).toContainEqual(["signature", 0, { family: "responses", value: "rs_1_0|gAAAAZGVlcA" }])
    expect(decoded([streamed({}, { text: "I cannot", finishReason: "refusal" })]).events).toContainEqual(["refusal", 0, "I cannot"])
    expect(decoded([streamed({ include: ["message.output_text.logprobs"] }, { text: "a b" })]).events.filter((event) => event[0] === "logprobs")).toHaveLength(2)
    const tools = [{ type: "custom", name: "exec" }]
    expect(decoded([streamed({ tools }, { toolCalls: [{ name: "exec", arguments: "print(1)" }] })]).events).toContainEqual(["toolCall", 0, 0, "call_1_0", "exec", true, null])
    expect(decoded([streamed({}, { tokens: 5, finishReason: "content_filter" })]).events).toContainEqual(["finish", 0, "content-filter", null])
    expect(tapped([streamed({}, { tokens: 5 })])).toMatchObject({ terminal: true, usage: { output: 5 } })
  })

  it("repeats the request", () => {
    const asked = call({ ...request("metadata-and-tiers"), reasoning: { effort: "low" } })
    expect(parsed(responses.body(asked, compose(asked, { text: "a" }, "1", 0)))).toMatchObject({ metadata: { team: "blue" }, user: "user-1", service_tier: "priority", truncation: "auto", reasoning: { effort: "low", summary: null } })
  })
})
