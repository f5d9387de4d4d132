import * as Result from "effect/Result"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { messages } from "#src/simulator/formats/messages/messages.ts"
import { client, upstream } from "#src/wire/messages/index.ts"
import { type Sim, startSim } from "#test/support/sim.ts"
import { conversation, encoded, events, fixtures, json, options, requestOf } from "#test/wire/messages/support.ts"
import { raw } from "./rawClient.ts"

const headers = { "anthropic-version": "2023-06-01", "x-api-key": "sk-ant-0123456789" }
const hello = { model: "claude-sonnet-4-5", max_tokens: 100, messages: [{ role: "user", content: "Hello" }] }
const read = (body: object, path = "/v1/messages", given: Record<string, string> = headers) => messages.read(body as Record<string, unknown>, { headers: given, path, query: "" })
const refusal = (over: object, path?: string) => {
  const found = read({ ...hello, ...over }, path)
  return Result.isFailure(found) ? found.failure.message : null
}
const user = (...content: ReadonlyArray<object>) => ({ messages: [{ role: "user", content }] })
const loop = (...content: ReadonlyArray<object>) => ({
  messages: [{ role: "user", content: "a" }, { role: "assistant", content }, { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "x" }] }]
})
const tool = { name: "f", input_schema: { type: "object" } }
const use = { type: "tool_use", id: "t", name: "f", input: {} }

describe("the messages format of the simulator", () => {
  test("takes what the codec writes", () => {
    for (const [name, bytes] of fixtures("requests")) {
      for (const model of ["claude-sonnet-4-5", "claude-opus-4-5", "claude-opus-4-6", "claude-opus-4-7", "claude-opus-4-8", "any-model"]) {
        const { body } = encoded(conversation(json(bytes)), { model })
        const found = read(body)
        expect(Result.isFailure(found) ? found.failure.message : null, `${name} for ${model}`).toBe(null)
      }
    }
  })

  test("refuses what the vendor refuses", () => {
    const cases: ReadonlyArray<readonly [object, RegExp]> = [
      [{ future: 1 }, /^future: Extra inputs/], [{ mcp_servers: [] }, /^mcp_servers: Extra/], [{ max_tokens: undefined }, /^max_tokens: Field required/],
      [{ temperature: 1.5 }, /^temperature: range/], [{ temperature: 0.5, top_p: 0.5 }, /cannot both be specified/], [{ stop_sequences: ["\n"] }, /non-whitespace/],
      [{ metadata: { a: 1 } }, /^metadata.a: Extra/], [{ service_tier: "flex" }, /^service_tier/], [{ messages: [{ role: "assistant", content: "a" }] }, /first message/],
      [{ messages: [{ role: "user", content: "" }] }, /non-empty content/], [{ messages: [{ role: "system", content: "x" }] }, /Unexpected role/],
      [user({ type: "text", text: "" }), /must be non-empty/], [user({ type: "text", text: "a", b: 1 }), /text.b: Extra/],
      [user({ type: "image", source: { type: "base64", media_type: "image/tiff", data: "AAAA" } }), /media_type/],
      [user({ type: "image", source: { type: "base64", media_type: "image/png", data: "data:image/png;base64,AA" } }), /Invalid base64/],
      [user({ type: "audio" }), /Input tag 'audio'/], [user({ type: "thinking", thinking: "x", signature: "EqQ" }), /Input tag 'thinking'/],
      [user({ type: "document", source: { type: "base64", media_type: "text/plain", data: "AAAA" } }), /application\/pdf/],
      [user(...Array.from({ length: 5 }, () => ({ type: "text", text: "a", cache_control: { type: "ephemeral" } }))), /maximum of 4 blocks/],
      [loop({ type: "thinking", thinking: "x", signature: "Z2F0ZXdheQ==" }, use), /Invalid `signature` in `thinking` block/],
      [loop({ ...use, id: "a.b" }), /should match pattern/], [loop({ ...use, input: "{}" }), /valid dictionary/], [loop(use, use), /ids must be unique/], [loop({ type: "text", text: "x" }), /unexpected `tool_use_id`/],
      [{ messages: [...loop(use).messages.slice(0, 2), { role: "user", content: [{ type: "text", text: "x" }, { type: "tool_result", tool_use_id: "t" }] }] }, /immediately after/],
      [{ tools: [tool, tool] }, /must be unique/], [{ tools: [{ ...tool, input_schema: {} }] }, /input_schema.type/], [{ tools: [{ ...tool, name: "a b" }] }, /pattern/],
      [{ tools: [{ type: "function", name: "f" }] }, /Input tag 'function'/], [{ tool_choice: { type: "any" } }, /only be specified while providing/],
      [{ tools: [tool], tool_choice: { type: "none", disable_parallel_tool_use: true } }, /Extra inputs/],
      [{ thinking: { type: "enabled", budget_tokens: 100 } }, /greater than or equal to 1024/], [{ thinking: { type: "enabled", budget_tokens: 2000 } }, /`max_tokens` must be greater/],
      [{ thinking: { type: "adaptive" } }, /not supported/], [{ model: "claude-opus-4-7", thinking: { type: "enabled", budget_tokens: 2000 } }, /not supported/],
      [{ model: "claude-opus-4-7", temperature: 0.5 }, /not supported/], [{ output_config: { effort: "low" } }, /effort parameter/],
      [{ max_tokens: 4000, thinking: { type: "enabled", budget_tokens: 2000 }, temperature: 0.5 }, /`temperature` may only/],
      [{ max_tokens: 4000, thinking: { type: "enabled", budget_tokens: 2000 }, tools: [tool], tool_choice: { type: "any" } }, /forces tool use/],
      [{ max_tokens: 4000, thinking: { type: "enabled", budget_tokens: 2000 }, tools: [tool], ...loop(use) }, /Expected `thinking`/],
      [{ output_config: { format: { type: "json" } } }, /json_schema/],
      [{ output_config: { format: { type: "json_schema", schema: { type: "object" } } } }, /additionalProperties/], [{ tools: [{ ...tool, strict: true }] }, /additionalProperties/]
    ]
    for (const [over, message] of cases) expect(refusal(over), JSON.stringify(over)).toMatch(message)
    expect(refusal({})).toBe(null)
    expect(Result.isFailure(read(hello, "/v1/messages", { "anthropic-version": "2023-06-01" }))).toBe(true)
  })

  test("counts tokens, and takes no limit there", () => {
    const { max_tokens: _, ...prompt } = hello
    expect(Result.isSuccess(read(prompt, "/v1/messages/count_tokens"))).toBe(true)
    expect(refusal({}, "/v1/messages/count_tokens")).toMatch(/^max_tokens: Extra/)
  })
})

describe("over HTTP", () => {
  let sim: Sim
  beforeAll(async () => {
    sim = await startSim()
  })
  afterAll(() => sim.stop())
  const ask = async (body: object, path = "/v1/messages") => raw(sim.port, body as Record<string, unknown>, { path, headers })
  const hear = async (body: object) => events([(await ask({ max_tokens: 4000, ...body, stream: true })).body]).events

  test("thoughts hidden and redacted, citations, refusals, stop sequences", async () => {
    const say = (content: string) => ({ messages: [{ role: "user", content }] })
    const hidden = await hear({ model: "reason-3", thinking: { type: "adaptive", display: "omitted" }, ...say("hi there") })
    expect(hidden.map(([name]) => name)).toEqual(["start", "tokens", "hiddenReasoning", "text", "partEnd", "finish", "tokens", "done"])
    expect(String((hidden[2]![2] as { readonly value: string }).value)).toMatch(/^omitted-thinking:/)
    expect((await hear({ model: "reason-3", ...say("ANTHROPIC_MAGIC_STRING_TRIGGER_REDACTED_THINKING_X") }))[2]).toMatchObject(["hiddenReasoning", 0, { family: "messages" }, null])
    expect((await hear({ model: "echo", ...say("ANTHROPIC_MAGIC_STRING_TRIGGER_REFUSAL_X") }))[2]).toEqual(["finish", 0, "refusal", null])
    expect((await hear({ model: "echo", ...say("one two END three"), stop_sequences: ["END"] })).find(([name]) => name === "finish")).toEqual(["finish", 0, "stop-sequence", "END"])
    const cited = await hear({ ...requestOf("citations-in-history"), model: "echo" })
    expect(cited.find(([name]) => name === "annotation")).toMatchObject(["annotation", 0, { kind: "document", document: "0" }])
    const counted = await ask({ model: "echo", ...say("one two") }, "/v1/messages/count_tokens")
    expect(JSON.parse(counted.body.toString())).toEqual({ input_tokens: 6 })
  })

  test("what it signs it takes back, through a client", async () => {
    const first = json((await ask({ ...requestOf("thinking-with-signature-and-tools"), messages: [{ role: "user", content: "Paris?" }], model: "reason-3" })).body)
    const answer = upstream.decodeAnswer(first)
    if (answer === null || !("choices" in answer)) throw new Error("no answer")
    const { content } = json(Buffer.from(client.encodeAnswer(answer, options)))
    const again = await ask({ model: "echo", max_tokens: 10, messages: [{ role: "user", content: "a" }, { role: "assistant", content }, { role: "user", content: "b" }] })
    expect(again.status).toBe(200)
  })
})
