import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { PublicError } from "#schemas/errors.ts"
import type { Conversation, MediaPart, ContentPart, GenerationSettings, Turn } from "#schemas/wire/conversation.ts"
import { client, upstream } from "#src/wire/messages/index.ts"
import { none } from "#src/wire/neutral/settings.ts"
import * as Signatures from "#src/wire/signatures.ts"
import { chat, conversation, encoded, fixtures, json, refusal, requestOf, text, traits } from "#test/wire/messages/support.ts"

const user = (...parts: ReadonlyArray<ContentPart>): Turn => ({ role: "user", parts, name: null, path: "messages[0]" })
const assistant = (...parts: ReadonlyArray<ContentPart>): Turn => ({ role: "assistant", parts, name: null, path: "messages[1]" })
const tool = (...parts: ReadonlyArray<ContentPart>): Turn => ({ role: "tool", parts, name: null, path: "messages[2]" })
const call = (id: string, args: string, over: object = {}): ContentPart => ({ kind: "toolCall", id, name: "f", arguments: args, custom: false, cache: null, signature: null, ...over })
const result = (id: string, words: string): ContentPart => ({ kind: "toolResult", id, name: null, isError: false, cache: null, content: [text(words)] })
const media = (kind: MediaPart["kind"], source: MediaPart["source"]): MediaPart => ({ kind, source, detail: null, name: null, context: null, citations: null, cache: null, signature: null })
const fn = { kind: "function", name: "f", description: null, parameters: null, strict: null, cache: null } as const
const think = (over: Partial<NonNullable<GenerationSettings["reasoning"]>>) => ({ reasoning: { enabled: null, effort: null, budget: null, summary: null, ...over } })

describe("messages requests, read", () => {
  for (const [name, bytes] of fixtures("requests")) {
    it(`${name}: written again it is the same conversation`, () => {
      const given = conversation(json(bytes))
      const { body, omitted } = encoded(given, { model: name === "system-message-between" ? "claude-opus-4-8" : "any-model" })
      expect(conversation(body)).toEqual(given)
      expect(omitted).toEqual([])
    })
  }

  for (const [name, bytes] of fixtures("bad")) {
    it(`${name}: refused by its path`, () => {
      const { param, request } = json(bytes) as { readonly param: string; readonly request: Record<string, unknown> }
      const head = client.head(request)
      const answer = head instanceof PublicError ? head : client.decodeRequest(request)
      expect(answer).toBeInstanceOf(PublicError)
      expect(answer).toMatchObject({ status: 400, extra: { param } })
    })
  }

  it("head reads model and stream flag", () => {
    expect(client.head(requestOf("all-settings"))).toEqual({ model: "claude-sonnet-4-5", stream: true, wantsUsage: true })
    expect(client.head({ model: "x", messages: [] })).toMatchObject({ message: "Field 'messages' must be a non-empty array.", extra: { param: "messages" } })
  })

  it("settings", () => {
    expect(conversation(requestOf("all-settings")).settings).toMatchObject({
      maxTokens: 1024, temperature: 0.4, topP: 0.9, topK: 40, stop: ["END", "\n\nHuman:"], user: "user-7f3a", serviceTier: "standard_only"
    })
    expect(conversation(requestOf("thinking-adaptive-effort")).settings.reasoning).toEqual({ enabled: true, effort: "max", budget: -1, summary: "auto" })
    expect(conversation(requestOf("thinking-enabled")).settings.reasoning).toEqual({ enabled: true, effort: null, budget: 10_000, summary: null })
    expect(conversation(requestOf("thinking-disabled")).settings.reasoning?.enabled).toBe(false)
    expect(conversation(requestOf("tool-choice-forced"))).toMatchObject({ toolChoice: { kind: "tool", name: "get_weather" }, settings: { parallelToolCalls: false } })
    expect(conversation(requestOf("structured-output")).settings.output).toMatchObject({ kind: "schema", schema: { additionalProperties: false } })
  })

  it("tool results stand in a turn of their own, before the rest", () => {
    const { turns } = conversation(requestOf("tools-parallel-results"))
    expect(turns.map((turn) => [turn.role, turn.path, turn.parts.map((part) => part.kind)])).toEqual([
      ["user", "messages[0]", ["text"]],
      ["assistant", "messages[1]", ["text", "toolCall", "toolCall", "toolCall"]],
      ["tool", "messages[2]", ["toolResult", "toolResult", "toolResult"]],
      ["user", "messages[2]", ["text"]]
    ])
    expect(turns[1]!.parts.map((part) => part.kind === "toolCall" ? part.arguments : "")).toEqual(["", '{"city":"Zürich","unit":"celsius"}', '{"city":"Paris 🗼"}', "{}"])
    expect(turns[2]!.parts[1]).toMatchObject({ isError: true, content: [{ text: "no such station" }] })
  })

  it("vendor tools and unknown blocks are opaque, own fields are weighed", () => {
    const search = conversation(requestOf("server-tool-web-search"))
    expect(search.tools.map((one) => one.kind)).toEqual(["hosted", "function"])
    expect(search.turns[1]!.parts.map((part) => part.kind)).toEqual(["opaque", "opaque", "text"])
    expect(conversation(requestOf("own-fields")).extras.map((extra) => [extra.field, extra.weight])).toEqual([
      ["container", "hint"], ["inference_geo", "essential"], ["cache_control", "hint"]
    ])
    expect(conversation({ ...requestOf("plain-text"), mcp_servers: [], context_management: {}, future: 1, output_config: { task_budget: {} } }).extras.map((extra) => [extra.field, extra.weight])).toEqual([
      ["mcp_servers", "hint"], ["context_management", "hint"], ["future", "hint"], ["output_config.task_budget", "hint"]
    ])
  })

  it("a sealed signature goes back to its family, a carried one to its call and its text", () => {
    const seal = (value: string) => Signatures.seal({ family: "generateContent", value }, "messages")
    const { turns } = conversation({
      model: "m",
      messages: [{ role: "user", content: "x" }, {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: seal("thought") },
          { type: "text", text: "so" },
          { type: "thinking", thinking: "", signature: seal("of-text:t") },
          { type: "thinking", thinking: "", signature: seal("of-call:c") },
          { type: "tool_use", id: "a", name: "f", input: {} },
          { type: "tool_use", id: "b", name: "f", input: {} }
        ]
      }]
    })
    expect(turns[1]!.parts.map((part) => [part.kind, "signature" in part ? part.signature?.value : null])).toEqual([
      ["reasoning", "thought"], ["text", "t"], ["toolCall", "c"], ["toolCall", undefined]
    ])
  })
})

describe("messages requests, written", () => {
  it("system and developer texts are one block, roles alternate, results come first", () => {
    const { body } = encoded(chat({
      turns: [
        { role: "system", name: null, path: "messages[0]", parts: [text("One")] }, user(text("a")), user(text("b")),
        assistant(text("c"), call("x", '{"n":12345678901234567890}')), tool(result("x", "y")), user(text("d")),
        { role: "developer", name: null, path: "messages[6]", parts: [text("Two")] }
      ]
    }))
    expect(body["system"]).toEqual([{ type: "text", text: "One\nTwo" }])
    expect((body["messages"] as ReadonlyArray<{ role: string; content: unknown }>).map((message) => message.role)).toEqual(["user", "assistant", "user"])
    expect(body["messages"]).toMatchObject([{}, {}, { content: [{ type: "tool_result", tool_use_id: "x", content: "y" }, { type: "text", text: "d" }] }])
  })

  it("arguments keep their bytes; what is no object is wrapped; ids are made fit", () => {
    const turns = [user(text("a")), assistant(call("functions.f:0", '{"n":12345678901234567890}'), call("b", ""), call("c", "oops")), tool(result("functions.f:0", "1"), result("b", "2"), result("c", "3"))]
    const written = upstream.encodeRequest(chat({ turns }), traits)
    expect(written).toMatchObject({ omitted: ["messages[1] (arguments that are no JSON object)"] })
    const { body } = written as { readonly body: string }
    expect(body).toContain('"input":{"n":12345678901234567890}')
    expect(body).toContain('"id":"toolu_0_functions_f_0"')
    expect(body).toContain('"tool_use_id":"toolu_0_functions_f_0"')
    expect(body).toContain('"id":"b","name":"f","input":{}')
    expect(body).toContain('"input":{"arguments":"oops"}')
  })

  it("orphans are the client's mistake", () => {
    expect(refusal(chat({ turns: [user(text("a")), tool(result("x", "y"))] }))).toMatchObject({ status: 400, extra: { param: "messages[2]" } })
  })

  it("what cannot be said is refused in the client's words", () => {
    const cases: ReadonlyArray<readonly [Partial<Omit<Conversation, "settings">> & { readonly settings?: Partial<GenerationSettings> }, string]> = [
      [{ settings: { choices: 2 } }, "n"], [{ settings: { logprobs: true } }, "logprobs"], [{ settings: { topLogprobs: 3 } }, "top_logprobs"],
      [{ settings: { logitBias: { 50256: -100 } } }, "logit_bias"], [{ settings: { modalities: ["text", "audio"] } }, "modalities"],
      [{ settings: { stop: ["\n"] } }, "stop"],
      [{ tools: [{ kind: "hosted", format: "responses", type: "web_search", value: {} }], toolChoice: { kind: "required" } }, "tool_choice"],
      [{ extras: [{ field: "audio", weight: "essential", value: {} }] }, "audio"],
      [{ turns: [user(media("audio", { kind: "base64", mediaType: "audio/wav", data: "AAAA" }))] }, "messages[0]"],
      [{ turns: [user(media("image", { kind: "base64", mediaType: "image/tiff", data: "AAAA" }))] }, "messages[0]"],
      [{ turns: [user(media("document", { kind: "file", family: "chat-completions", id: "file-1", mediaType: null }))] }, "messages[0]"],
      [{ turns: [user({ kind: "opaque", format: "generateContent", field: "contents[0].parts[0].executableCode", value: {}, listed: "messages[].content[].x", fallback: null })] }, "contents[0].parts[0].executableCode"]
    ]
    for (const [over, param] of cases) expect(refusal(chat(over)), param).toMatchObject({ status: 400, extra: { param } })
    expect(refusal(chat({ toolChoice: { kind: "required" } }))).toMatchObject({ extra: { param: "tool_choice" } })
    expect(refusal(chat({ toolChoice: { kind: "tool", name: "g" }, tools: [fn] }))).toMatchObject({ extra: { param: "tool_choice" } })
  })

  it("what may be left out is listed in the client's words", () => {
    const { body, omitted } = encoded(chat({
      extras: [{ field: "prediction", weight: "hint", value: {} }],
      turns: [{ ...user(text("x"), { ...media("image", { kind: "url", url: "https://e.com/a.png", mediaType: null }), detail: "high" }), name: "bob" }],
      settings: {
        seed: 1, frequencyPenalty: 0.5, presencePenalty: 0, temperature: 1.7, verbosity: "low", promptCacheKey: "k", store: true, metadata: { a: "b" },
        serviceTier: "flex", minP: 0.1, user: "u", safetyIdentifier: "s"
      }
    }))
    expect(new Set(omitted)).toEqual(new Set([
      "messages[0].name", "detail", "temperature (lowered to 1)", "safety_identifier", "service_tier", "min_p", "seed", "verbosity", "prompt_cache_key", "store",
      "metadata", "frequency_penalty", "prediction"
    ]))
    expect(body).toMatchObject({ temperature: 1, metadata: { user_id: "u" }, max_tokens: 64_000 })
    // A limit that cuts agents off is none; one that the model does not have is refused by its vendor.
    for (const [model, limit, said] of [
      ["claude-next", 32_000, true], ["some-model", 32_000, true], ["claude-sonnet-4-5", 32_000, true], ["claude-opus-4-1-20250805", 32_000, false],
      ["claude-3-5-sonnet-20241022", 8_192, false], ["claude-3-haiku-20240307", 4_096, false], ["anthropic.claude-3-opus-20240229-v1:0", 4_096, false],
      ["claude-2.1", 4_096, false], ["claude-3-7-sonnet-20250219", 32_000, true]
    ] as const) {
      const { body, omitted } = encoded(chat(), { maxOutputTokens: null, model })
      expect([model, body["max_tokens"], omitted.includes(`max_tokens (set to ${limit})`)]).toEqual([model, limit, said])
      expect(encoded(chat({ settings: { maxTokens: 7 } }), { maxOutputTokens: null, model }).body["max_tokens"]).toBe(7)
      expect(encoded(chat(), { maxOutputTokens: 50_000, model }).body["max_tokens"]).toBe(50_000)
    }
    expect(encoded(chat({ settings: { maxTokens: 7 } })).body["max_tokens"]).toBe(7)
  })

  it("tools and choices", () => {
    const tools = [fn, { ...fn, name: "g", parameters: { properties: {} }, strict: true }]
    expect(encoded(chat({ tools, toolChoice: { kind: "required" }, settings: { parallelToolCalls: false } })).body).toMatchObject({
      tools: [{ name: "f", input_schema: { type: "object", properties: {} } }, { name: "g", input_schema: { type: "object" }, strict: true }],
      tool_choice: { type: "any", disable_parallel_tool_use: true }
    })
    expect(encoded(chat({ tools, toolChoice: { kind: "allowed", names: ["g"], required: true } })).body).toMatchObject({ tools: [{ name: "g" }], tool_choice: { type: "any" } })
    expect(encoded(chat({ tools, toolChoice: { kind: "none" }, settings: { parallelToolCalls: false } })).body["tool_choice"]).toEqual({ type: "none" })
    expect(encoded(chat({ tools, settings: { parallelToolCalls: false } })).body["tool_choice"]).toEqual({ type: "auto", disable_parallel_tool_use: true })
  })

  it("output formats", () => {
    const schema = { type: "object", properties: { a: { type: "array", items: { type: "object", properties: {}, additionalProperties: false } } } }
    expect(encoded(chat({ settings: { output: { kind: "schema", name: "n", description: "d", schema, strict: true } } }))).toMatchObject({
      body: { output_config: { format: { type: "json_schema", schema: { ...schema, additionalProperties: false } } } }, omitted: ["response_format.description"]
    })
    expect(JSON.stringify(encoded(chat({ settings: { output: { kind: "json" } } })).body["system"])).toContain("JSON object")
  })

  it("thinking: budgets, limits, forced tools, tool loops", () => {
    const high = encoded(chat({ settings: { ...think({ effort: "high" }), temperature: 0.2, topK: 4, topP: 0.5, maxTokens: 100 } }))
    expect(high.body).toMatchObject({ max_tokens: 64_000, thinking: { type: "enabled", budget_tokens: 55_808 } })
    expect(high.omitted).toEqual(["max_completion_tokens (raised to 64000)", "temperature", "top_p", "top_k"])
    expect(encoded(chat({ settings: { ...think({ effort: "low" }), maxTokens: 100 } })).body).toMatchObject({ max_tokens: 9216, thinking: { budget_tokens: 1024 } })
    expect(encoded(chat({ settings: think({ effort: "high" }) }), { maxOutputTokens: null }).body).toMatchObject({ max_tokens: 32_000, thinking: { budget_tokens: 23_808 } })
    expect(encoded(chat({ settings: think({ effort: "none" }) })).body["thinking"]).toEqual({ type: "disabled" })
    expect(encoded(chat({ settings: think({ effort: "low" }) }), { reasoning: false })).toMatchObject({ omitted: ["reasoning_effort"] })
    expect(encoded(chat({ settings: think({ effort: "low" }) }), { maxOutputTokens: 1000 })).toMatchObject({ omitted: ["reasoning_effort"], body: { max_tokens: 1000 } })
    const forced = encoded(chat({ settings: think({ effort: "low" }), tools: [fn], toolChoice: { kind: "required" } }))
    expect([forced.body["thinking"], forced.omitted]).toEqual([undefined, ["reasoning_effort"]])
    const turns = [user(text("a")), assistant(call("x", "{}")), tool(result("x", "y"))]
    expect(encoded(chat({ settings: think({ effort: "low" }), turns })).omitted).toEqual(["reasoning_effort"])
    const signed: ContentPart = { kind: "reasoning", text: "hm", summary: false, id: null, redacted: false, signature: { family: "messages", value: "s" } }
    const thoughtful = [turns[0]!, assistant(signed, call("x", "{}")), turns[2]!]
    expect(encoded(chat({ settings: think({ effort: "low" }), turns: thoughtful })).body["thinking"]).toMatchObject({ type: "enabled" })
  })

  it("newer models think adaptively and take no sampling parameters", () => {
    const settings = { ...think({ effort: "xhigh", summary: "detailed" }), temperature: 0.2, topP: 0.5 }
    expect(encoded(chat({ settings }), { model: "claude-opus-4-7" })).toMatchObject({
      body: { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: "xhigh" } }, omitted: ["temperature", "top_p"]
    })
    expect(encoded(chat({ settings: think({ effort: "xhigh" }) }), { model: "claude-opus-4-6-20260205" }).body["output_config"]).toEqual({ effort: "high" })
    expect(encoded(chat({ settings: think({ budget: 20_000 }) }), { model: "claude-opus-5" }).body).toMatchObject({ thinking: { type: "adaptive" }, output_config: { effort: "high" } })
    expect(encoded(chat({ settings: think({ budget: 20_000 }) }), { model: "claude-sonnet-4-6" }).body["thinking"]).toEqual({ type: "enabled", budget_tokens: 20_000 })
    const adaptive = conversation(requestOf("thinking-adaptive-effort"))
    expect(encoded(adaptive)).toMatchObject({ body: { max_tokens: 16_000, thinking: { type: "enabled", budget_tokens: 12_000 } }, omitted: ["output_config.effort"] })
    expect(encoded(adaptive, { model: "glm-5" }).body).toMatchObject({ thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: "max" } })
    expect(encoded(conversation(requestOf("thinking-enabled")), { model: "claude-opus-4-7" }).body).toMatchObject({ thinking: { type: "adaptive" }, output_config: { effort: "medium" } })
    expect(encoded(chat({ settings: { temperature: 0.2, topP: 0.5 } }))).toMatchObject({ body: { temperature: 0.2 }, omitted: ["top_p"] })
    expect(encoded(chat({ settings: { temperature: 0.2, topP: 0.5 } }), { model: "glm-5" })).toMatchObject({ body: { temperature: 0.2, top_p: 0.5 }, omitted: [] })
  })

  it("reasoning of another family, or unsigned, is never sent as a signed block", () => {
    const reasoning = (over: object): ContentPart => ({ kind: "reasoning", text: "hm", summary: false, id: null, redacted: false, signature: null, ...over })
    const blocks = (...parts: ReadonlyArray<ContentPart>) => {
      const { body, omitted } = encoded(chat({ turns: [user(text("a")), assistant(...parts, text("b")), user(text("c"))] }))
      expect(omitted).toEqual([])
      return (body["messages"] as ReadonlyArray<{ readonly content: unknown }>)[1]!.content
    }
    expect(blocks(reasoning({}))).toBe("b")
    expect(blocks(reasoning({ signature: { family: "responses", value: "enc" } }))).toBe("b")
    expect(blocks(reasoning({ signature: { family: "messages", value: "sig" } }))).toEqual([{ type: "thinking", thinking: "hm", signature: "sig" }, { type: "text", text: "b" }])
    expect(blocks(reasoning({ text: "", signature: { family: "messages", value: "data" } }))).toMatchObject([{ type: "redacted_thinking", data: "data" }, {}])
    expect(blocks(reasoning({ text: "", signature: { family: "messages", value: "omitted-thinking:sig" } }))).toMatchObject([{ type: "thinking", thinking: "", signature: "sig" }, {}])
  })

  it("a system prompt alone becomes the question; an assistant never begins", () => {
    expect(encoded(chat({ turns: [{ role: "system", name: null, path: "messages[0]", parts: [text("Say hi")] }] }))).toMatchObject({
      body: { messages: [{ role: "user", content: [{ text: "Say hi" }] }] }, omitted: ["messages[0].role"]
    })
    expect(encoded(chat({ turns: [assistant(text("Hi")), user(text("a"))] }))).toMatchObject({ omitted: ["messages[1] (user turn added)"] })
    expect(refusal(chat({ turns: [user(text(""))] })).status).toBe(400)
  })
})

/** Words that no rule of the vendor touches: they end in something that is no white space, whatever their other characters. */
const Words = Schema.NonEmptyString.check(Schema.isPattern(/\S$/))
const Cache = Schema.NullOr(Schema.Struct({ ttl: Schema.NullOr(Schema.Literals(["5m", "1h"])) }))
const AnyText = Schema.Struct({
  kind: Schema.Literal("text"), text: Words, cache: Cache, annotations: Schema.Tuple([]), signature: Schema.Null
})
const AnySource = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("base64"), mediaType: Schema.Literal("image/png"), data: Schema.Literal("AAAA") }),
  Schema.Struct({ kind: Schema.Literal("url"), url: Words, mediaType: Schema.Null }),
  Schema.Struct({ kind: Schema.Literal("file"), family: Schema.Literal("messages"), id: Words, mediaType: Schema.Null })
])
const AnyImage = Schema.Struct({
  kind: Schema.Literal("image"), source: AnySource, detail: Schema.Null, name: Schema.Null, context: Schema.Null, citations: Schema.Null, cache: Cache, signature: Schema.Null
})
const AnyDocument = Schema.Struct({
  kind: Schema.Literal("document"), source: Schema.Struct({ kind: Schema.Literal("text"), text: Schema.String, mediaType: Schema.Literal("text/plain") }), detail: Schema.Null,
  name: Schema.NullOr(Schema.String), context: Schema.NullOr(Schema.String), citations: Schema.NullOr(Schema.Boolean), cache: Cache, signature: Schema.Null
})
const AnyThought = Schema.Struct({
  kind: Schema.Literal("reasoning"), text: Schema.String, summary: Schema.Literal(false), id: Schema.Null, redacted: Schema.Literal(false),
  signature: Schema.Struct({ family: Schema.Literal("messages"), value: Schema.Literals(["EqQBCgIYAhIk", "sig"]) })
})
const AnyCall = Schema.Struct({ input: Schema.Record(Schema.String, Schema.Json), result: Schema.Array(Schema.Union([AnyText, AnyImage])), isError: Schema.Boolean, cache: Cache })
const AnyRound = Schema.Struct({
  asked: Schema.NonEmptyArray(Schema.Union([AnyText, AnyImage, AnyDocument])), thoughts: Schema.Array(AnyThought), said: AnyText, calls: Schema.Array(AnyCall)
})

/** A messages conversation of rounds: question, thoughts, text, calls and their results. */
const conversationOf = (rounds: ReadonlyArray<typeof AnyRound.Type>, over: Partial<Conversation>): Conversation => {
  const turns: Array<Turn> = []
  let messages = -1
  const add = (role: Turn["role"], parts: ReadonlyArray<ContentPart>, joins: boolean): void => {
    turns.push({ role, parts, name: null, path: `messages[${joins ? messages : ++messages}]` })
  }
  let joins = false
  rounds.forEach((round, r) => {
    add("user", round.asked, joins)
    const calls = round.calls.map((one, i): ContentPart => {
      const args = JSON.stringify(one.input)
      return { kind: "toolCall", id: `t${r}_${i}`, name: "f", arguments: args, object: json(Buffer.from(args)), custom: false, cache: one.cache, signature: null }
    })
    add("assistant", [...round.thoughts, round.said, ...calls], false)
    joins = calls.length > 0
    if (joins) add("tool", round.calls.map((one, i): ContentPart => ({ kind: "toolResult", id: `t${r}_${i}`, name: null, content: one.result, isError: one.isError, cache: one.cache })), false)
  })
  return { format: "messages", turns, tools: [], toolChoice: null, settings: { ...none, maxTokens: 100 }, extras: [], ...over }
}

describe("any conversation", () => {
  it.prop("written and read again is the same", { rounds: Arbitrary.schema(Schema.NonEmptyArray(AnyRound)) }, ({ rounds }) => {
    const given = conversationOf(rounds, {})
    const { body, omitted } = encoded(given, { model: "any-model" })
    expect(omitted).toEqual([])
    expect(conversation(body)).toEqual(given)
  })

  it.prop("of a chat client keeps every word, call and result", { rounds: Arbitrary.schema(Schema.NonEmptyArray(AnyRound)) }, ({ rounds }) => {
    const given = conversationOf(rounds, { format: "chat-completions" })
    const read = conversation(encoded(given).body)
    const facts = (from: Conversation) => from.turns.flatMap((turn) => turn.parts.map((part) => part.kind === "reasoning" ? [turn.role, part.kind] : [turn.role, part]))
    expect(facts(read)).toEqual(facts(given))
  })
})

describe("messages requests, passed through", () => {
  it("model and stream are edited, a missing limit is added", () => {
    expect(upstream.passThroughEdits({ model: "a/b", messages: [], max_tokens: 5 }, traits)).toEqual([{ key: "model", value: '"claude-sonnet-4-5"' }])
    expect(upstream.passThroughEdits({ model: traits.model, messages: [] }, { ...traits, stream: true })).toEqual([{ key: "stream", value: "true" }, { key: "max_tokens", value: "64000" }])
  })

  it("what we sealed for the client does not reach the vendor", () => {
    const sealed = Signatures.seal({ family: "responses", value: "enc" }, "messages")
    const body = {
      model: traits.model, max_tokens: 5000, thinking: { type: "enabled", budget_tokens: 1024 },
      messages: [
        { role: "user", content: "a" },
        { role: "assistant", content: [{ type: "thinking", thinking: "x", signature: sealed }, { type: "text", text: "t", citations: [{ type: "web_search_result_location", encrypted_index: "", url: "u" }] }, { type: "tool_use", id: "i", name: "f", input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "i" }] }
      ]
    }
    const edits = Object.fromEntries(upstream.passThroughEdits(body, traits).map((edit) => [edit.key, JSON.parse(edit.value) as unknown]))
    expect(edits["messages"]).toMatchObject([{}, { content: [{ type: "text", text: "t" }, { type: "tool_use" }] }, {}])
    expect(JSON.stringify(edits["messages"])).not.toContain("citations")
    expect(edits["thinking"]).toEqual({ type: "disabled" })
    expect(upstream.passThroughEdits(requestOf("thinking-with-signature-and-tools"), traits)).toEqual([])
  })
})

describe("any JSON", () => {
  const seeds = fixtures("requests").map(([, bytes]) => json(bytes))

  it.prop("is read or refused, never thrown at", { body: Arbitrary.schema(Schema.Record(Schema.String, Schema.Json)) }, ({ body }) => {
    for (const request of [body, { ...body, model: "m", messages: body["a"] ?? [body] }]) {
      client.head(request)
      const read = client.decodeRequest(request)
      if (!(read instanceof PublicError)) upstream.encodeRequest(read, traits)
      upstream.readError(request)
      upstream.decodeAnswer(request)
      upstream.readAnswer(request)?.outputText()
      upstream.passThroughEdits(request, traits)
    }
  })

  it.prop("a request with one value replaced is read or refused", { where: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100_000 }))), value: Arbitrary.schema(Schema.Json) }, ({ value, where }) => {
    for (const seed of seeds) {
      const mutated = replaced(seed, where, value) as Record<string, unknown>
      const read = client.decodeRequest(mutated)
      if (read instanceof PublicError) {
        expect(read.status).toBe(400)
        continue
      }
      const written = upstream.encodeRequest(read, traits)
      if (written instanceof PublicError) expect(written.status).toBe(400)
      else JSON.parse(written.body)
      upstream.passThroughEdits(mutated, traits)
    }
  })
})

/** The document with its nth value, counted in depth, replaced. */
const replaced = (document: unknown, nth: number, value: unknown): unknown => {
  let total = 0
  const walk = (node: unknown, target: number): unknown => {
    if (total++ === target) return value
    if (Array.isArray(node)) return node.map((inner) => walk(inner, target))
    if (typeof node !== "object" || node === null) return node
    return Object.fromEntries(Object.entries(node).map(([key, inner]) => [key, walk(inner, target)]))
  }
  walk(document, -1)
  const size = total
  total = 0
  return walk(document, 1 + nth % (size - 1))
}
