/** Signatures of thoughts on their way through clients that keep them in places of their own, and texts that only look like signatures. */
import { describe, expect, it } from "vitest"
import { PublicError } from "#schemas/errors.ts"
import type { Answer, FamilyName, FormatName, ContentPart, Signature } from "#schemas/wire/conversation.ts"
import { streamOf } from "#src/wire/dialects.ts"
import { clients, family } from "#src/wire/formats.ts"
import * as Signatures from "#src/wire/signatures.ts"

type Json = Readonly<Record<string, unknown>>

const models: Readonly<Record<FamilyName, string>> = {
  "chat-completions": "deepseek-reasoner", "messages": "claude-sonnet-4-5", "responses": "gpt-5", "generateContent": "gemini-3-flash", "local-model-server": "qwen3"
}
const client = (name: FormatName) => clients.find((one) => one.name === name)!
const traits = (name: FamilyName) => ({ model: models[name], stream: false, maxOutputTokens: 64_000, reasoning: true, streamOptions: true, previousResponseId: "auto" as const })
const options = () => ({ model: "m", includeUsage: true, request: {}, makeId: () => "x".repeat(24), now: () => 1 })

const encode = (format: FormatName, name: FamilyName, body: Json) => {
  const read = client(format).decodeRequest({ model: "m", ...body })
  return read instanceof PublicError ? read : family(name).encodeRequest(read, traits(name))
}
const written = (format: FormatName, name: FamilyName, body: Json): string => {
  const encoded = encode(format, name, body)
  if (encoded instanceof PublicError) throw new Error(encoded.message)
  return encoded.body
}

const answer = (...parts: ReadonlyArray<ContentPart>): Answer => ({
  id: null, model: "m", createdAt: 1, usage: null, serviceTier: null, systemFingerprint: null,
  choices: [{ index: 0, parts, finish: "stop", stopSequence: null, logprobs: null }]
})
const thought = (text: string, signature: Signature | null): ContentPart => ({ kind: "reasoning", text, summary: false, signature, id: null, redacted: false })
const text = (words: string): ContentPart => ({ kind: "text", text: words, cache: null, annotations: [], signature: null })
const call = (signature: Signature | null): ContentPart => ({ kind: "toolCall", id: "call_1", name: "f", arguments: "{}", custom: false, cache: null, signature })

describe("a thought that nobody signed", () => {
  const unsigned = answer(thought("Hm.", null), text("Yes."))
  const content = (JSON.parse(client("messages").encodeAnswer(unsigned, options())) as { readonly content: ReadonlyArray<Json> }).content

  it("reaches a messages client with a mark, whole and streamed", () => {
    expect(content[0]).toEqual({ type: "thinking", thinking: "Hm.", signature: Signatures.unsigned })
    const stream = streamOf(unsigned, client("messages"), options())
    expect(stream).toContain(`{"type":"signature_delta","signature":"${Signatures.unsigned}"}`)
    expect(stream.match(/signature_delta/g)).toHaveLength(1)
  })

  it("and does not go to a messages vendor from there, but to one that reads plain thoughts", () => {
    const body = { max_tokens: 100, messages: [{ role: "user", content: "Hi" }, { role: "assistant", content }, { role: "user", content: "Go on" }] }
    for (const model of ["claude-sonnet-4-5", "some-model"]) {
      const edits = family("messages").passThroughEdits(body, { ...traits("messages"), model })
      expect(edits.find((edit) => edit.key === "messages")?.value).toBe(JSON.stringify([body.messages[0], { role: "assistant", content: [{ type: "text", text: "Yes." }] }, body.messages[2]]))
    }
    expect(written("messages", "chat-completions", body)).toContain("\"reasoning_content\":\"Hm.\"")
  })

  it("never leaves with an empty signature", () => {
    const body = { messages: [{ role: "user", content: "Hi" }, { role: "assistant", content: [{ type: "thinking", thinking: "Hm.", signature: "" }, { type: "text", text: "Yes." }] }] }
    const sent = (model: string) => family("messages").passThroughEdits(body, { ...traits("messages"), model }).find((edit) => edit.key === "messages")?.value ?? ""
    expect(sent("claude-sonnet-4-5")).not.toContain("thinking")
    expect(sent("deepseek-reasoner")).toContain("{\"type\":\"thinking\",\"thinking\":\"Hm.\"}")
  })
})

describe("a client that keeps signatures elsewhere", () => {
  it("gives the signature of a call back in reasoning_details alone", () => {
    const given = answer(call({ family: "generateContent", value: "c2ln" }), text(""))
    const whole = (JSON.parse(client("chat-completions").encodeAnswer(given, options())) as { readonly choices: ReadonlyArray<{ readonly message: Json }> }).choices[0]!.message
    const details = whole["reasoning_details"]
    expect(details).toMatchObject([{ type: "reasoning.encrypted", id: "call_1", format: "google-gemini-v1", index: 0 }])
    expect(streamOf(given, client("chat-completions"), options())).toContain(JSON.stringify(details).slice(1, -1))
    const calls = (whole["tool_calls"] as ReadonlyArray<Json>).map((one) => Object.fromEntries(Object.entries(one).filter(([key]) => key !== "extra_content")))
    const messages = [{ role: "user", content: "Hi" }, { role: "assistant", content: null, reasoning_details: details, tool_calls: calls }, { role: "tool", tool_call_id: "call_1", content: "1" }]
    expect(written("chat-completions", "generateContent", { messages })).toContain("\"args\":{}},\"thoughtSignature\":\"c2ln\"")
  })

  it.each([
    ["messages", { family: "messages", value: "EqgfSig" }, "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"EqgfSig\"}"],
    ["responses", { family: "responses", value: "rs_9|gAAAAenc" }, "{\"type\":\"reasoning\",\"id\":\"rs_9\",\"summary\":[],\"encrypted_content\":\"gAAAAenc\"}"]
  ] as const)("drops the thoughts of %s and keeps their signature on the call behind them", (name, signature, expected) => {
    const parts = (JSON.parse(client("generateContent").encodeAnswer(answer(thought("Hm.", signature), call(null)), options())) as {
      readonly candidates: ReadonlyArray<{ readonly content: { readonly parts: ReadonlyArray<Json> } }>
    }).candidates[0]!.content.parts
    const moved = { ...parts[1], thoughtSignature: parts[0]?.["thoughtSignature"] }
    const contents = (model: ReadonlyArray<unknown>) => [
      { role: "user", parts: [{ text: "Hi" }] }, { role: "model", parts: model }, { role: "user", parts: [{ functionResponse: { id: "call_1", name: "f", response: { result: "1" } } }] }
    ]
    expect(written("generateContent", name, { contents: contents([moved]) })).toContain(expected)
    // A client that keeps both does not give it twice.
    expect(written("generateContent", name, { contents: contents([parts[0], moved]) }).split(name === "messages" ? "EqgfSig" : "gAAAAenc")).toHaveLength(2)
  })
})

describe("what only looks like a signature", () => {
  const dummies = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go", Buffer.from("skip_thought_signature_validator").toString("base64")]
  it.each(dummies)("%s reaches no other family", (dummy) => {
    const gemini = {
      contents: [
        { role: "user", parts: [{ text: "Hi" }] }, { role: "model", parts: [{ functionCall: { id: "c", name: "f", args: {} }, thoughtSignature: dummy }] },
        { role: "user", parts: [{ functionResponse: { id: "c", name: "f", response: { result: "1" } } }] }
      ]
    }
    const chat = {
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: "", tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" }, extra_content: { google: { thought_signature: dummy } } }] },
        { role: "tool", tool_call_id: "c", content: "1" }
      ]
    }
    for (const name of ["chat-completions", "messages", "responses", "local-model-server"] as const) expect(written("generateContent", name, gemini)).not.toContain(dummy)
    for (const name of ["messages", "responses", "local-model-server"] as const) expect(written("chat-completions", name, chat)).not.toContain(dummy)
    // The vendor's own models want one on a call that they did not make.
    expect(written("chat-completions", "generateContent", chat)).toContain("skip_thought_signature_validator")
  })
})

describe("messages that are stored at the client's vendor", () => {
  const result = { type: "function_call_output", call_id: "call_1", output: "42" }
  it.each([
    ["an earlier response", { previous_response_id: "resp_elsewhere", input: [result] }, "previous_response_id"],
    ["a conversation", { conversation: "conv_elsewhere", input: [result] }, "conversation"],
    ["a prompt", { prompt: { id: "pmpt_1" } }, "prompt"]
  ])("are the reason of a refusal: %s", (_name, body, param) => {
    for (const name of ["chat-completions", "messages", "generateContent", "local-model-server"] as const) {
      expect(encode("responses", name, body), name).toMatchObject({ status: 400, code: "capability_unsupported", message: expect.stringContaining("not stored here") as unknown, extra: { param } })
    }
  })
})

describe("a thread whose earlier messages are at the vendor's", () => {
  const body = { max_tokens: 100, messages: [{ role: "user", content: "And?" }], thread: { type: "continue", id: "thread_1" } }
  it("is refused by families that do not have them, and passes as it is to its own", () => {
    for (const name of ["chat-completions", "responses", "generateContent", "local-model-server"] as const) {
      expect(encode("messages", name, body), name).toMatchObject({ status: 400, extra: { param: "thread" } })
      const result = { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "42" }] }
      expect(encode("messages", name, { ...body, messages: [result] }), name).toMatchObject({ extra: { param: "thread", details: { error_code: "thread_unsupported_request" } } })
      expect(encode("messages", name, { ...body, thread: { type: "start" } }), name).toMatchObject({ omitted: expect.arrayContaining(["thread"]) as unknown })
    }
    expect(family("messages").passThroughEdits({ ...body, model: "claude-sonnet-4-5" }, traits("messages"))).toEqual([])
  })
})
