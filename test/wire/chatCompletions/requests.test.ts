import { describe, expect, it, test } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { PublicError } from "#schemas/errors.ts"
import type { Conversation, MediaPart, ContentPart, GenerationSettings } from "#schemas/wire/conversation.ts"
import { client, upstream } from "#src/wire/chatCompletions/index.ts"
import { textPart } from "#src/wire/chatCompletions/request/decodeMessages.ts"
import { media } from "#src/wire/chatCompletions/request/media.ts"
import { none } from "#src/wire/neutral/settings.ts"
import { bad, conversationOf, type Json, named, requests, traits } from "#test/wire/chatCompletions/fixtures.ts"

const encode = (conversation: Conversation, model = "some-model", more = {}): { readonly body: Json; readonly omitted: ReadonlyArray<string> } => {
  const encoded = upstream.encodeRequest(conversation, traits(model, more))
  if (encoded instanceof PublicError) throw new Error(`${encoded.message} (${JSON.stringify(encoded.extra)})`)
  return { body: JSON.parse(encoded.body) as Json, omitted: encoded.omitted }
}

const refusal = (conversation: Conversation, model = "some-model"): PublicError => {
  const encoded = upstream.encodeRequest(conversation, traits(model))
  if (!(encoded instanceof PublicError)) throw new Error(`not refused: ${encoded.body}`)
  return encoded
}

const request = (name: string): Conversation => conversationOf(named(requests, name))
const partsOf = (conversation: Conversation): ReadonlyArray<ContentPart> => conversation.turns.flatMap((turn) => turn.parts)
const messagesOf = (body: Json) => body["messages"] as ReadonlyArray<Json>

const conversation = (parts: ReadonlyArray<ContentPart>, settings: Partial<GenerationSettings> = {}, format: Conversation["format"] = "messages"): Conversation => ({
  format, turns: [{ role: "user", parts, name: null, path: "messages[0]" }], tools: [], toolChoice: null, settings: { ...none, ...settings }, extras: []
})

describe("a request is read", () => {
  test.each(requests)("%s", (_, body) => {
    expect(conversationOf(body).turns.length).toBeGreaterThan(0)
  })

  test.each(bad)("%s is refused by its path", (_, { param, request: body }) => {
    const refused = client.decodeRequest(body)
    expect(refused).toBeInstanceOf(PublicError)
    expect(refused).toMatchObject({ status: 400, code: "bad_request", extra: { param } })
  })

  test("roles, names, settings", () => {
    const read = request("text-multi-turn")
    expect(read.turns.map((turn) => [turn.role, turn.name, turn.path])).toEqual([
      ["system", null, "messages[0]"], ["user", null, "messages[1]"], ["assistant", null, "messages[2]"], ["user", "ada", "messages[3]"]
    ])
    expect(read.settings).toEqual({ ...none, temperature: 0.2, topP: 0.9, maxTokens: 64, stop: ["\n\n", "END"], seed: 7, user: "user-1" })
    expect(read.extras).toEqual([])
  })

  test("media", () => {
    expect(partsOf(request("images")).slice(1)).toMatchObject([
      { kind: "image", detail: "low", source: { kind: "base64", mediaType: "image/png" } },
      { kind: "image", detail: "high", source: { kind: "url", url: "https://example.com/cat.jpg" } }
    ])
    expect(partsOf(request("audio-input"))[1]).toMatchObject({ kind: "audio", source: { kind: "base64", mediaType: "audio/wav" } })
    expect(partsOf(request("documents"))[0]).toMatchObject({ kind: "document", name: "report.pdf", source: { mediaType: "application/pdf" } })
    expect(partsOf(request("document-by-id"))[0]).toMatchObject({ source: { kind: "file", family: "chat-completions", id: "file-abc123" } })
  })

  test.each([
    ["data:application/pdf;base64,JVBERg==", "document", "application/pdf"],
    ["data:video/mp4;base64,AAAA", "video", "video/mp4"],
    ["data:image/png;charset=x;base64,AA\nAA", "image", "image/png"],
    ["data:text/plain,hello%20there", "document", "text/plain"]
  ])("an image_url of %s is what its type says", (url, kind, mediaType) => {
    const [part] = partsOf(conversationOf({ model: "m", messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }] }))
    expect(part).toMatchObject({ kind, source: { kind: "base64", mediaType } })
  })

  test("tools, calls and results", () => {
    const read = request("tools-parallel")
    expect(read.tools).toMatchObject([{ kind: "function", name: "get_weather", strict: true }, { kind: "function", name: "now", strict: null }])
    expect(read.turns.map((turn) => turn.role)).toEqual(["user", "assistant", "tool", "tool", "tool", "user"])
    expect(read.turns[1]?.parts).toMatchObject([{ id: "call_zrh", arguments: "{\"city\":\"Zürich\",\"unit\":\"c\"}" }, { id: "call_tyo" }, { id: "call_now" }])
    expect(read.toolChoice).toEqual({ kind: "auto" })
    expect(request("tool-choice-forced").toolChoice).toEqual({ kind: "tool", name: "get_weather" })
    expect(request("tool-choice-allowed").toolChoice).toEqual({ kind: "allowed", names: ["now"], required: true })
    expect(request("custom-tool").tools).toEqual([
      { kind: "custom", name: "sql", description: "Runs SQL.", format: { type: "grammar", definition: "start: /.+/", syntax: "lark" } }
    ])
    expect(partsOf(request("tool-result-with-image"))[2]).toMatchObject({ kind: "toolResult", content: [{ kind: "text" }, { kind: "image" }] })
  })

  test("the format before tools", () => {
    const parts = partsOf(request("functions-legacy"))
    expect(parts[1]).toMatchObject({ kind: "toolCall", id: "call_message_1", name: "get_weather" })
    expect(parts[2]).toMatchObject({ kind: "toolResult", id: "call_message_1", name: "get_weather" })
  })

  test("reasoning, signatures of this family and of others", () => {
    expect(partsOf(request("reasoning-plain"))[1]).toMatchObject({ kind: "reasoning", text: "Two and two make four.", signature: null })
    expect(partsOf(request("reasoning-signed")).slice(1, 4)).toMatchObject([
      { kind: "reasoning", text: "The user wants weather.", signature: { family: "chat-completions", value: "c2lnbmF0dXJlLTE=" } },
      { kind: "reasoning", text: "", id: "rs_1", redacted: false, signature: { family: "chat-completions" } },
      { kind: "text", text: "Looking." }
    ])
    expect(partsOf(request("reasoning-sealed-by-the-gateway")).slice(1, 3)).toMatchObject([
      { kind: "reasoning", text: "A greeting.", signature: { family: "messages", value: "EuYBCkY" } },
      { kind: "reasoning", text: "", redacted: true, signature: { family: "messages", value: "EuYBCkY" } }
    ])
    expect(partsOf(request("thought-signature-of-a-call"))[1]).toMatchObject({ signature: { family: "generateContent", value: "dGhvdWdodA==" } })
  })

  test("details collected from a stream's entries are one part", () => {
    const read = conversationOf({
      model: "m",
      messages: [{ role: "user", content: "x" }, {
        role: "assistant",
        content: "y",
        reasoning_details: [
          { type: "reasoning.text", text: "Let", index: 0 }, { type: "reasoning.text", text: " me", index: 0 },
          { type: "reasoning.text", text: "", signature: "c2ln", index: 0 }, { type: "reasoning.text", text: "Then", index: 1 },
          { type: "reasoning.summary", summary: "Sum", index: 2 }, { type: "reasoning.encrypted", data: "ZW5j", id: "rs_1", index: 2 }
        ]
      }]
    })
    expect(partsOf(read).slice(1, 4)).toMatchObject([
      { text: "Let me", signature: { value: "c2ln" } }, { text: "Then", signature: null },
      { text: "Sum", summary: true, id: "rs_1", signature: { value: "ZW5j" } }
    ])
  })

  test.each([
    [{ reasoning_effort: "high" }, { enabled: null, effort: "high", budget: null, summary: null }],
    [{ reasoning_effort: "none" }, { enabled: false, effort: "none", budget: null, summary: null }],
    [{ reasoning: { max_tokens: 2000, exclude: true } }, { enabled: null, effort: null, budget: 2000, summary: "omitted" }],
    [{ reasoning: { enabled: false } }, { enabled: false, effort: null, budget: null, summary: null }],
    [{ thinking: { type: "enabled", budget_tokens: 1024 } }, { enabled: true, effort: null, budget: 1024, summary: null }],
    [{ thinking: { type: "disabled" } }, { enabled: false, effort: null, budget: null, summary: null }],
    [{ enable_thinking: true, thinking_budget: 64 }, { enabled: true, effort: null, budget: 64, summary: null }],
    [{}, null]
  ])("%j asks for thinking", (fields, expected) => {
    expect(conversationOf({ model: "m", messages: [{ role: "user", content: "x" }], ...fields }).settings.reasoning).toEqual(expected)
  })

  test("fields of this format alone are kept with their weight, unknown ones too", () => {
    const read = conversationOf({
      model: "m", messages: [{ role: "user", content: "x", mood: "good" }], web_search_options: {}, prediction: { type: "content", content: "x" }, wild: 1, empty: null
    })
    expect(read.extras).toEqual([
      { field: "web_search_options", weight: "hint", value: {} },
      { field: "prediction", weight: "hint", value: { type: "content", content: "x" } },
      { field: "wild", weight: "hint", value: 1 },
      { field: "messages[].mood", weight: "hint", value: null }
    ])
    expect(request("audio-output").extras).toMatchObject([{ field: "audio", weight: "essential" }])
  })

  test("a part of an unknown type is kept whole", () => {
    const read = conversationOf({ model: "m", messages: [{ role: "user", content: [{ type: "hologram", data: [1] }] }] })
    expect(partsOf(read)).toEqual([
      {
        kind: "opaque", format: "chat-completions", field: "messages[0].content[0]", value: { type: "hologram", data: [1] },
        listed: "messages[].content[].hologram", fallback: null
      }
    ])
  })
})

describe("a request is written", () => {
  test.each(requests)("%s survives being written and read again", (name, body) => {
    const model = name === "audio-output" ? "gpt-4o-audio-preview" : String(body["model"])
    const first = conversationOf(body)
    const { body: written, omitted } = encode(first, model, { reasoning: model.includes("deepseek") ? true : null })
    expect(omitted).toEqual(name === "unanswered-call" ? ["messages[1] (tool result added)"] : [])
    const again = conversationOf(written)
    if (name !== "tools-parallel" && name !== "tool-result-with-image" && name !== "unanswered-call" && name !== "functions-legacy") {
      expect(again.turns.map((turn) => turn.parts.map(normal))).toEqual(first.turns.map((turn) => turn.parts.filter((part) => !isForeign(part)).map(normal)))
    }
    expect(again.tools).toEqual(first.tools)
    expect(again.toolChoice).toEqual(first.toolChoice)
    expect({ ...again.settings, reasoning: null }).toEqual({ ...first.settings, reasoning: null })
    expect(again.extras).toEqual(first.extras)
  })

  test("results stand behind their calls in their order, images in a message of their own", () => {
    expect(messagesOf(encode(request("tools-parallel")).body).map((message) => message["tool_call_id"] ?? message["role"])).toEqual(
      ["user", "assistant", "call_zrh", "call_tyo", "call_now", "user"]
    )
    const messages = messagesOf(encode(request("tool-result-with-image")).body)
    expect(messages[2]).toEqual({ role: "tool", tool_call_id: "call_s", content: "Done." })
    expect(messages[3]).toMatchObject({ role: "user", content: [{ type: "text", text: "Result of the call call_s of screenshot:" }, { type: "image_url" }] })
  })

  test("a call without a result gets one, a result without a call is refused", () => {
    const { body, omitted } = encode(request("unanswered-call"))
    expect(messagesOf(body)[2]).toMatchObject({ role: "tool", tool_call_id: "call_x" })
    expect(omitted).toEqual(["messages[1] (tool result added)"])
    const orphan = conversationOf({ model: "m", messages: [{ role: "user", content: "x" }, { role: "tool", tool_call_id: "c", content: "r" }] })
    expect(refusal(orphan)).toMatchObject({ status: 400, extra: { param: "messages[1]" } })
  })

  test("the vendor's ids are short: long ones are cut, in the call as in its result", () => {
    const calls = [1, 2].map((i) => ({ id: `call_${"x".repeat(60)}_${i}`, type: "function", function: { name: "f", arguments: "{}" } }))
    const read = conversationOf({
      model: "m",
      messages: [{ role: "user", content: "x" }, { role: "assistant", tool_calls: calls }, ...calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "r" }))]
    })
    const messages = messagesOf(encode(read, "gpt-4o").body)
    const ids = (messages.flatMap((message) => message["tool_calls"] as ReadonlyArray<{ readonly id: string }> | undefined ?? [])).map((call) => call.id)
    expect(new Set(ids).size).toBe(2)
    expect(ids.map((id) => id.length)).toEqual([40, 40])
    expect(messages.slice(2).map((message) => message["tool_call_id"])).toEqual(ids)
    expect(messagesOf(encode(read, "llama-3").body)[2]?.["tool_call_id"]).toBe(calls[0]?.id)
  })

  test.each([
    ["gpt-4o-mini", "max_tokens"], ["o3-mini", "max_completion_tokens"], ["openai/gpt-5-mini", "max_completion_tokens"], ["llama-3", "max_tokens"],
    ["gpt-oss-120b", "max_tokens"]
  ])("%s is limited by %s", (model, field) => {
    expect(encode(conversation([textPart("x")], { maxTokens: 9 }), model).body[field]).toBe(9)
  })

  test("streams ask for usage unless the connection opted out", () => {
    expect(encode(request("json-mode"), "m", { stream: true }).body).toMatchObject({ stream: true, stream_options: { include_usage: true } })
    expect(encode(request("json-mode"), "m", { stream: true, streamOptions: false }).body["stream_options"]).toBeUndefined()
    expect(encode(request("json-mode"), "m").body["stream"]).toBeUndefined()
  })

  test.each([
    ["gpt-4o", { topK: 5, minP: 0.1 }, ["top_k", "minP"], {}],
    ["llama-3", { topK: 5, minP: 0.1 }, [], { top_k: 5, min_p: 0.1 }],
    ["o3", { temperature: 0.5, topP: 1 }, ["temperature"], { top_p: 1 }],
    ["gpt-4o", { metadata: { a: "b" } }, ["metadata"], {}],
    ["gpt-4o", { metadata: { a: "b" }, store: true }, [], { metadata: { a: "b" }, store: true }],
    ["gpt-4o", { serviceTier: "standard_only" }, [], { service_tier: "default" }],
    ["gpt-4o", { serviceTier: "batch" }, ["service_tier"], {}],
    ["gpt-4o", { reasoning: { enabled: true, effort: null, budget: 2048, summary: null } }, ["thinking"], {}],
    ["gpt-4o", { reasoning: { enabled: false, effort: null, budget: null, summary: null } }, [], {}],
    ["o3", { reasoning: { enabled: true, effort: "max", budget: null, summary: null } }, [], { reasoning_effort: "high" }],
    ["gpt-5", { reasoning: { enabled: false, effort: null, budget: null, summary: null } }, [], { reasoning_effort: "minimal" }],
    ["gpt-5.1", { reasoning: { enabled: null, effort: "max", budget: null, summary: null } }, [], { reasoning_effort: "xhigh" }],
    ["deepseek", { reasoning: { enabled: true, effort: null, budget: 1000, summary: null } }, [], { reasoning_effort: "low" }],
    ["llama-3", { reasoning: { enabled: false, effort: "none", budget: null, summary: null } }, [], {}],
    ["glm-4.6", { reasoning: { enabled: false, effort: null, budget: null, summary: null } }, [], { reasoning_effort: "none" }],
    ["gpt-4o", { topLogprobs: 2 }, [], { logprobs: true, top_logprobs: 2 }]
  ] as ReadonlyArray<[string, Partial<GenerationSettings>, ReadonlyArray<string>, Json]>)("%s of %j leaves out %j", (model, settings, omitted, expected) => {
    const written = encode(conversation([textPart("x")], settings), model)
    const { model: _model, messages: _messages, ...rest } = written.body
    expect(rest).toEqual(expected)
    expect(written.omitted.map((field) => field === "min_p" ? "minP" : field)).toEqual(omitted)
  })

  const document = (source: MediaPart["source"], more: Partial<MediaPart> = {}) => media("document", source, more)
  test.each([
    ["a stop too many", conversation([textPart("x")], { stop: ["a", "b", "c", "d", "e"] }), "stop_sequences"],
    ["a file of another vendor", conversation([document({ kind: "file", family: "messages", id: "f", mediaType: null })]), "messages[0]"],
    ["a link to a document", conversation([document({ kind: "url", url: "https://x/y.pdf", mediaType: null })]), "messages[0]"],
    ["a video", conversation([media("video", { kind: "url", url: "https://x/y.mp4", mediaType: null })]), "messages[0]"],
    ["audio in a rare form", conversation([media("audio", { kind: "base64", mediaType: "audio/flac", data: "AA==" })]), "messages[0]"],
    ["an uploaded image", conversation([media("image", { kind: "file", family: "messages", id: "f", mediaType: null })]), "messages[0]"],
    ["spoken answers", conversation([textPart("x")], { modalities: ["audio"] }), "modalities"],
    ["a part of another format", conversation([{ kind: "opaque", format: "messages", field: "messages[0].content[0]", value: {}, listed: "messages[].content[].x", fallback: null }]), "messages[0].content[0]"],
    ["a forced tool of another vendor", {
      ...conversation([textPart("x")]), tools: [{ kind: "hosted", format: "messages", type: "web_search_20250305", value: {} }], toolChoice: { kind: "required" }
    }, "tool_choice"],
    ["a forced tool nobody declared", { ...conversation([textPart("x")]), toolChoice: { kind: "required" } }, "tool_choice"],
    ["an essential field of another format", { ...conversation([textPart("x")]), extras: [{ field: "context_management", weight: "essential", value: {} }] }, "context_management"]
  ] as ReadonlyArray<[string, Conversation, string]>)("%s is refused", (_, given, param) => {
    expect(refusal(given, "gpt-4o")).toMatchObject({ status: 400, extra: { param } })
  })

  test("documents: as files, as text, with name and context", () => {
    const { body } = encode(conversation([
      document({ kind: "base64", mediaType: "application/pdf", data: "JVBERg==" }, { context: "About it." }),
      document({ kind: "text", text: "Body", mediaType: null }, { name: "Title", context: "Context" }),
      document({ kind: "base64", mediaType: "text/plain", data: Buffer.from("Grüße").toString("base64") }),
      document({ kind: "file", family: "responses", id: "file-1", mediaType: null })
    ]))
    expect(messagesOf(body)[0]?.["content"]).toEqual([
      { type: "text", text: "About it." },
      { type: "file", file: { filename: "document.pdf", file_data: "data:application/pdf;base64,JVBERg==" } },
      { type: "text", text: "Title\n\nContext\n\nBody" },
      { type: "text", text: "Grüße" },
      { type: "file", file: { file_id: "file-1" } }
    ])
  })

  test("what has no place is listed: breakpoints, errors of tools, unusual detail", () => {
    const { omitted } = encode({
      ...conversation([textPart("x", { cache: { ttl: null } }), media("image", { kind: "url", url: "https://x/y", mediaType: null }, { detail: "original" })]),
      extras: [{ field: "container", weight: "hint", value: "c" }]
    })
    expect(omitted).toEqual(["cache_control", "detail", "container"])
  })

  test("foreign signatures stay behind; thoughts go where they are welcome", () => {
    const read = request("reasoning-sealed-by-the-gateway")
    const signed = JSON.stringify(encode(read, "claude-sonnet-4").body)
    expect(signed).not.toContain("reasoning_details")
    expect(signed).not.toContain("EuYB")
    expect(messagesOf(encode(read, "deepseek-chat").body)[1]).toMatchObject({ reasoning_content: "A greeting." })
    expect(messagesOf(encode(read, "gpt-5").body)[1]).toEqual({ role: "assistant", content: "Hello." })
    expect(messagesOf(encode(request("reasoning-signed"), "anthropic/claude-sonnet-4").body)[1]?.["reasoning_details"]).toEqual([
      { type: "reasoning.text", text: "The user wants weather.", signature: "c2lnbmF0dXJlLTE=", index: 0 },
      { type: "reasoning.encrypted", data: "ZW5jcnlwdGVkLTE=", id: "rs_1", index: 1 }
    ])
  })

  test("only the vendor itself hears of developers; JSON mode has its word", () => {
    const read = request("developer-and-late-system")
    expect(messagesOf(encode(read, "gpt-5").body)[0]?.["role"]).toBe("developer")
    expect(messagesOf(encode(read, "llama-3").body)[0]?.["role"]).toBe("system")
    const asked = conversation([textPart("x")], { output: { kind: "json" } }, "generateContent")
    expect(messagesOf(encode(asked).body)).toHaveLength(2)
    expect(JSON.stringify(encode(asked).body)).toContain("Answer with a JSON object.")
  })
})

/** Parts as the format keeps them: arguments of nothing are an empty object. */
const normal = (part: ContentPart): ContentPart =>
  part.kind === "toolCall" && part.arguments === "" ? { ...part, arguments: "{}" } : part.kind === "toolResult" ? { ...part, name: null } : part

/** Thoughts that another family signed: they go to that family only. */
const isForeign = (part: ContentPart): boolean => part.kind === "reasoning" && part.signature !== null && part.signature.family !== "chat-completions"

const Text = Schema.NonEmptyString
const text = Arbitrary.schema(Text)

describe("any conversation", () => {
  it.prop("of texts, calls and results comes back as it was", {
    system: text, question: text, answer: text, id: text, name: text, tool: Arbitrary.schema(Schema.Literals(["f", "get_weather", "a-b"])), args: text, result: text,
    settings: Arbitrary.schema(Schema.Struct({
      maxTokens: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1000 })), temperature: Schema.Finite, topK: Schema.Int, seed: Schema.Int,
      stop: Schema.Array(Text).check(Schema.isMinLength(1), Schema.isMaxLength(4)), user: Text, store: Schema.Boolean
    }))
  }, ({ answer, args, id, name, question, result, settings, system, tool }) => {
    const given: Conversation = {
      ...conversation([]),
      turns: [
        { role: "system", parts: [textPart(system)], name: null, path: "messages[0]" },
        { role: "user", parts: [textPart(question), textPart(system)], name, path: "messages[1]" },
        {
          role: "assistant", name: null, path: "messages[2]",
          parts: [textPart(answer), { kind: "toolCall", id, name: tool, arguments: args, custom: false, cache: null, signature: null }]
        },
        {
          role: "tool", name: null, path: "messages[3]",
          parts: [{ kind: "toolResult", id, name: null, content: [textPart(result)], isError: false, cache: null }]
        }
      ],
      // JSON knows no -0.
      settings: { ...none, ...settings, temperature: settings.temperature + 0, topK: settings.topK + 0, seed: settings.seed + 0 }
    }
    const again = conversationOf(encode(given).body)
    expect(again.turns.map((turn) => turn.parts)).toEqual(given.turns.map((turn) => turn.parts.map((part) =>
      part.kind === "toolCall" && part.arguments.trim() === "" ? { ...part, arguments: "{}" } : part)))
    expect(again.settings).toEqual(given.settings)
  })
})

describe("hostile input", () => {
  it.prop("random JSON is refused or read, never thrown at", { body: Arbitrary.schema(Schema.Record(Schema.String, Schema.Json)) }, ({ body }) => {
    const read = client.decodeRequest(body)
    if (!(read instanceof PublicError)) upstream.encodeRequest(read, traits())
    upstream.decodeAnswer(body)
    upstream.readError(body)
    upstream.readAnswer(body)?.outputText()
  })

  const values: ReadonlyArray<unknown> = [null, 0, -1, "", "x", true, [], {}, [null], { type: "text" }, { url: 3 }]
  /** The value with one member replaced, for each of its members. */
  const mutants = function* (value: unknown): Generator<unknown> {
    for (const other of values) yield other
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) for (const mutant of mutants(value[i])) yield value.with(i, mutant)
    } else if (typeof value === "object" && value !== null) {
      for (const [key, member] of Object.entries(value)) for (const mutant of mutants(member)) yield { ...value, [key]: mutant }
    }
  }

  test.each(requests)("mutants of %s", (_, body) => {
    for (const mutant of mutants(body)) {
      if (typeof mutant !== "object" || mutant === null || Array.isArray(mutant)) continue
      const read = client.decodeRequest(mutant as Json)
      if (read instanceof PublicError) {
        expect(read.status).toBe(400)
        expect(read.extra?.["param"]).toBeTypeOf("string")
      } else upstream.encodeRequest(read, traits())
      client.head(mutant as Json)
    }
  })
})
