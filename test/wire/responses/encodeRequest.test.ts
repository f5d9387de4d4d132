import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { PublicError } from "#schemas/errors.ts"
import type { Conversation, MediaPart, ContentPart, TextPart, ToolCallPart } from "#schemas/wire/conversation.ts"
import { none } from "#src/wire/neutral/settings.ts"
import { client, upstream } from "#src/wire/responses/index.ts"
import type { TargetTraits } from "#src/wire/WireFormat.ts"
import { conversation, fixtures, parsed, request, traits, turn } from "./support.ts"

const write = (given: Conversation, over: Partial<TargetTraits> = {}) => {
  const result = upstream.encodeRequest(given, traits(over))
  if (result instanceof PublicError) throw new Error(`${String(result.extra?.["param"])}: ${result.message}`)
  return { body: parsed(result.body), omitted: result.omitted }
}

const refusedField = (given: Conversation): unknown => {
  const result = upstream.encodeRequest(given, traits())
  return result instanceof PublicError ? [result.status, result.extra?.["param"]] : result
}

const text = (content: string, over: Partial<TextPart> = {}): TextPart => ({ kind: "text", text: content, cache: null, annotations: [], signature: null, ...over })
const medium = (kind: MediaPart["kind"], source: MediaPart["source"], over: Partial<MediaPart> = {}): MediaPart =>
  ({ kind, source, detail: null, name: null, context: null, citations: null, cache: null, signature: null, ...over })
const call = (id: string, over: Partial<ToolCallPart> = {}): ToolCallPart => ({ kind: "toolCall", id, name: "f", arguments: "{}", custom: false, cache: null, signature: null, ...over })
const user = turn("user", text("x"))
const chat = (over: Partial<Conversation["settings"]>, rest: Partial<Conversation> = {}): Conversation =>
  conversation([user], { format: "chat-completions", settings: { ...none, ...over }, ...rest })

describe("encodeRequest", () => {
  it("system texts, messages and calls of another format", () => {
    const { body, omitted } = write(conversation([
      turn("system", text("A"), text("B", { cache: { ttl: null } })), turn("user", text("hi"), medium("image", { kind: "base64", mediaType: "image/png", data: "AAAA" })),
      turn("assistant", { kind: "reasoning", text: "foreign", summary: false, id: null, redacted: false, signature: { family: "messages", value: "s" } }, text("I look"), call("call_1", { arguments: "" })),
      turn("tool", { kind: "toolResult", id: "call_1", name: null, isError: true, cache: null, content: [text("bad")] }),
      turn("system", text("later"))
    ]), { stream: true })
    expect(body).toEqual({
      model: "gpt-5", instructions: "A\nB", store: false, stream: true, input: [
        { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }, { type: "input_image", detail: "auto", image_url: "data:image/png;base64,AAAA" }] },
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "I look", annotations: [] }] },
        { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" }, { type: "function_call_output", call_id: "call_1", output: "bad" },
        { type: "message", role: "system", content: [{ type: "input_text", text: "later" }] }
      ]
    })
    expect(omitted).toEqual(["cache_control", "is_error"])
  })

  it("own reasoning goes back under its id, whoever kept it", () => {
    const kept = { kind: "reasoning", text: "seen", summary: false, id: null, redacted: false, signature: { family: "responses", value: "rs_9|gAAA" } } as const
    expect(write(conversation([user, turn("assistant", kept, text("a"))])).body["input"]).toMatchObject([
      {}, { type: "reasoning", id: "rs_9", summary: [{ type: "summary_text", text: "seen" }], encrypted_content: "gAAA" }, { type: "message" }
    ])
  })

  it("tools, choices and schemas", () => {
    const tools: Conversation["tools"] = [
      { kind: "function", name: "f", description: "d", parameters: { type: "object" }, strict: null, cache: null },
      { kind: "function", name: "g", description: null, parameters: null, strict: true, cache: { ttl: null } }, { kind: "custom", name: "c", description: null, format: { type: "text" } }
    ]
    const { body, omitted } = write(chat({ parallelToolCalls: false }, { tools, toolChoice: { kind: "allowed", names: ["f", "c"], required: false } }))
    expect(body).toMatchObject({
      parallel_tool_calls: false, tools: [
        { type: "function", name: "f", description: "d", parameters: { type: "object", properties: {} }, strict: false },
        { type: "function", name: "g", parameters: { type: "object", properties: {} }, strict: true }, { type: "custom", name: "c", format: { type: "text" } }
      ],
      tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "f" }, { type: "custom", name: "c" }] }
    })
    expect(omitted).toEqual(["cache_control"])
    expect(write(chat({}, { tools, toolChoice: { kind: "tool", name: "g" } })).body["tool_choice"]).toEqual({ type: "function", name: "g" })
    expect(write(chat({}, { tools, toolChoice: { kind: "required" } })).body["tool_choice"]).toBe("required")
  })

  it("a strict tool of another format is closed, or is strict no more", () => {
    const strict = (parameters: Record<string, unknown>) => write(chat({}, { tools: [{ kind: "function", name: "f", description: null, parameters, strict: true, cache: null }] }))
    const open = { type: "object", properties: { a: { type: "array", items: { type: "object", properties: {} } } } }
    expect(strict({ ...open, required: ["a"] }).body["tools"]).toEqual([{
      type: "function", name: "f", strict: true, parameters: {
        type: "object", required: ["a"], additionalProperties: false, properties: { a: { type: "array", items: { type: "object", properties: {}, additionalProperties: false } } }
      }
    }])
    expect(strict(open)).toMatchObject({ omitted: ["strict"], body: { tools: [{ strict: false, parameters: open }] } })
  })

  it("any JSON may only be asked for by its name", () => {
    expect(write(chat({ output: { kind: "json" } })).body).toMatchObject({ instructions: "Answer with a JSON object.", text: { format: { type: "json_object" } } })
    expect(write(chat({ output: { kind: "json" } }, { turns: [turn("user", text("some json"))] })).body).not.toHaveProperty("instructions")
  })

  it("settings: what it can say, what it leaves out, what it raises", () => {
    const { body, omitted } = write(chat({
      maxTokens: 5, temperature: 0.5, topP: 0.9, topK: 3, seed: 7, frequencyPenalty: 0, presencePenalty: 1, logprobs: true, topLogprobs: 3, verbosity: "low", serviceTier: "flex",
      user: "u", safetyIdentifier: "s", promptCacheKey: "k", metadata: { a: "b" }, output: { kind: "schema", name: null, description: null, schema: { type: "object" }, strict: true },
      reasoning: { enabled: true, effort: "max", budget: null, summary: null }
    }))
    expect(body).toMatchObject({
      max_output_tokens: 16, temperature: 0.5, top_p: 0.9, include: ["message.output_text.logprobs"], top_logprobs: 3, service_tier: "flex", user: "u", safety_identifier: "s",
      prompt_cache_key: "k", metadata: { a: "b" }, store: false, reasoning: { effort: "high" },
      text: { verbosity: "low", format: { type: "json_schema", name: "response", schema: { type: "object" }, strict: true } }
    })
    expect(omitted).toEqual(["top_k", "seed", "presence_penalty", "max_completion_tokens (raised to 16)"])
  })

  it("thinking in any words becomes an effort; a model that cannot is not asked", () => {
    const asked = (reasoning: NonNullable<Conversation["settings"]["reasoning"]>, over: Partial<TargetTraits> = {}) => write(conversation([user], { settings: { ...none, reasoning } }), over)
    expect(asked({ enabled: true, effort: null, budget: 10_240, summary: null }).body["reasoning"]).toEqual({ effort: "medium", summary: "auto" })
    expect(asked({ enabled: true, effort: null, budget: -1, summary: "omitted" }).body["reasoning"]).toEqual({ effort: "medium" })
    expect(asked({ enabled: false, effort: null, budget: null, summary: null })).toMatchObject({ omitted: ["thinking"] })
    expect(asked({ enabled: false, effort: null, budget: null, summary: null }, { reasoning: true }).body).toMatchObject({ reasoning: { effort: "minimal" }, include: ["reasoning.encrypted_content"] })
    expect(asked({ enabled: true, effort: "low", budget: null, summary: null }, { reasoning: false })).toMatchObject({ omitted: ["thinking"] })
    expect(asked({ enabled: true, effort: "low", budget: null, summary: null }, { reasoning: false }).body).not.toHaveProperty("reasoning")
  })

  it("what it cannot say is refused by the client's field", () => {
    expect(refusedField(chat({ choices: 2 }))).toEqual([400, "n"])
    expect(refusedField(chat({ stop: ["x"] }))).toEqual([400, "stop"])
    expect(refusedField(conversation([user], { settings: { ...none, stop: ["x"] } }))).toEqual([400, "stop_sequences"])
    expect(refusedField(chat({ logitBias: { "1": 2 } }))).toEqual([400, "logit_bias"])
    expect(refusedField(chat({ modalities: ["audio"] }))).toEqual([400, "modalities"])
    expect(refusedField(chat({}, { tools: [{ kind: "hosted", format: "messages", type: "bash_20250124", value: {} }], toolChoice: { kind: "required" } }))).toEqual([400, "tool_choice"])
    expect(refusedField(chat({}, { extras: [{ field: "web_search_options", weight: "essential", value: {} }] }))).toEqual([400, "web_search_options"])
    expect(refusedField(conversation([turn("user", medium("video", { kind: "url", url: "https://x", mediaType: null }))]))).toEqual([400, "messages[0]"])
    expect(refusedField(conversation([turn("user", medium("image", { kind: "file", family: "messages", id: "f", mediaType: null }))]))).toEqual([400, "messages[0]"])
    expect(refusedField(conversation([turn("user", medium("audio", { kind: "base64", mediaType: "audio/flac", data: "AA" }))]))).toEqual([400, "messages[0]"])
    expect(refusedField(conversation([turn("user", { kind: "opaque", format: "messages", field: "messages[0].content[0]", value: {}, listed: "messages[].content[].x", fallback: null })]))).toEqual([400, "messages[0].content[0]"])
    expect(refusedField(conversation([user, turn("tool", { kind: "toolResult", id: "c", name: null, isError: false, cache: null, content: [] })]))).toEqual([400, "messages[0]"])
  })

  it("a document in any form keeps its bytes and its name; its context comes before it", () => {
    const content = (part: MediaPart) => (write(conversation([turn("user", part)])).body["input"] as ReadonlyArray<{ readonly content: unknown }>)[0]?.content
    expect(content(medium("document", { kind: "base64", mediaType: "application/pdf", data: "JVBE" }, { name: "a.pdf", context: "about" })))
      .toEqual([{ type: "input_text", text: "about" }, { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,JVBE" }])
    expect(content(medium("document", { kind: "text", text: "Grüße", mediaType: null }))).toEqual([{ type: "input_file", filename: "document.txt", file_data: `data:text/plain;base64,${Buffer.from("Grüße").toString("base64")}` }])
    expect(content(medium("document", { kind: "url", url: "https://x/y.pdf", mediaType: null }))).toEqual([{ type: "input_file", file_url: "https://x/y.pdf" }])
  })

  it("an id that the vendor finds too long is shortened alike in call and output", () => {
    const id = `call_${"x".repeat(80)}`
    const { body } = write(conversation([user, turn("assistant", call(id)), turn("tool", { kind: "toolResult", id, name: null, isError: false, cache: null, content: [text("ok")] })]))
    const [, one, two] = body["input"] as ReadonlyArray<{ readonly call_id: string }>
    expect(one?.call_id).toBe(two?.call_id)
    expect(one!.call_id.length).toBeLessThanOrEqual(64)
  })

  it("previous_response_id is kept or stripped as the target wants", () => {
    const given = client.decodeRequest(request("previous-response")) as Conversation
    expect(write(given).body).toMatchObject({ previous_response_id: "resp_123", input: [{ type: "function_call_output" }] })
    expect(write(given, { previousResponseId: "strip" })).toMatchObject({ omitted: ["previous_response_id"] })
    expect(write(given, { previousResponseId: "strip" }).body).not.toHaveProperty("previous_response_id")
  })

  it("pass-through changes the model and nothing else", () => {
    expect(upstream.passThroughEdits({ model: "a", stream: true }, traits({ stream: true }))).toEqual([{ key: "model", value: "\"gpt-5\"" }])
    expect(upstream.passThroughEdits({ model: "a", stream: true, previous_response_id: "r" }, traits({ previousResponseId: "strip" })))
      .toEqual([{ key: "model", value: "\"gpt-5\"" }, { key: "stream", value: "false" }, { key: "previous_response_id", value: "null" }])
  })
})

describe("decode(encode(x)) is x", () => {
  for (const { bytes, name } of fixtures("requests")) {
    it(name, () => {
      const first = client.decodeRequest(parsed(bytes)) as Conversation
      const again = client.decodeRequest(write(first, { reasoning: null }).body) as Conversation
      expect(known(again)).toEqual(known(first))
    })
  }

  const Text = Schema.NonEmptyString
  const sources = [
    medium("image", { kind: "url", url: "https://example.com/a.png", mediaType: null }, { detail: "low" }), medium("image", { kind: "base64", mediaType: "image/png", data: "AAAA" }, { detail: "auto" }),
    medium("audio", { kind: "base64", mediaType: "audio/wav", data: "AAAA" }), medium("document", { kind: "base64", mediaType: "application/pdf", data: "AAAA" }, { name: "a.pdf" })
  ]
  it.prop("for any conversation that the format can say", {
    system: Arbitrary.schema(Text), said: Arbitrary.schema(Schema.Array(Text)), answer: Arbitrary.schema(Schema.Array(Text)), args: Arbitrary.schema(Schema.Json), results: Arbitrary.schema(Schema.Array(Text)),
    pick: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))), effort: Arbitrary.schema(Schema.Literals(["none", "low", "high"])), refused: Arbitrary.schema(Schema.Boolean)
  }, ({ answer, args, effort, pick, refused, results, said, system }) => {
    const parts: ReadonlyArray<ContentPart> = [...said.map((one) => text(one)), sources[pick]!]
    const given = conversation([
      { ...turn("system", text(system)), path: "instructions" }, turn("user", ...parts),
      turn("assistant", { kind: "reasoning", text: system, summary: true, id: "rs_1", redacted: false, signature: { family: "responses", value: "rs_1|gAAA" } }, ...answer.map((one): ContentPart => refused ? { kind: "refusal", text: one } : text(one)),
        ...results.map((_, i) => call(`call_${i}`, { arguments: JSON.stringify(args), custom: i % 2 === 1 })), call("call_last")),
      turn("tool", ...[...results, "last"].map((one, i): ContentPart => ({ kind: "toolResult", id: i === results.length ? "call_last" : `call_${i}`, name: "f", isError: false, cache: null, content: [text(one)] })))
    ], { format: "responses", settings: { ...none, temperature: 0.5, maxTokens: 100, reasoning: { enabled: effort !== "none", effort, budget: null, summary: null } } })
    expect(known(client.decodeRequest(write(given).body) as Conversation)).toEqual(known(given))
  })
})

/** Everything but the paths, the order and the names of results (their calls say them) and how parts of one item are spread. */
const known = (given: Conversation) => ({
  ...given,
  extras: [...given.extras].sort((a, b) => a.field.localeCompare(b.field)),
  turns: given.turns.map(({ parts, role }) => ({ role, parts: (role === "tool" ? [...parts].sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))) : parts).map((part) => part.kind === "toolResult" ? { ...part, name: null } : part.kind === "opaque" ? { ...part, field: "" } : part.kind === "toolCall" && part.arguments === "" ? { ...part, arguments: "{}" } : part.kind === "image" ? { ...part, detail: part.detail ?? "auto" } : part) }))
    .map((one) => ({ ...one, parts: one.parts.map((part) => part.kind === "toolResult" ? { ...part, content: part.content.map((inner) => inner.kind === "image" ? { ...inner, detail: inner.detail ?? "auto" } : inner) } : part) }))
})
