import { describe, expect, test } from "vitest"
import { PublicError } from "#schemas/errors.ts"
import type { Answer } from "#schemas/wire/conversation.ts"
import { client, upstream } from "#src/wire/chatCompletions/index.ts"
import { streamOf } from "#src/wire/dialects.ts"
import { AnswerBuilder } from "#src/wire/neutral/AnswerBuilder.ts"
import { answers, type Json, named, options } from "#test/wire/chatCompletions/fixtures.ts"

const decode = (name: string): Answer => {
  const answer = upstream.decodeAnswer(named(answers, name))
  if (answer === null || !("choices" in answer)) throw new Error(`no answer: ${JSON.stringify(answer)}`)
  return answer
}

const partsOf = (name: string) => decode(name).choices[0]?.parts

const whole = answers.filter(([name]) => name !== "error-inside-200")

describe("an answer is read", () => {
  test("its head, usage and text", () => {
    expect(decode("text")).toEqual({
      id: "chatcmpl-B1", model: "gpt-4o-mini-2024-07-18", createdAt: 1741569952, serviceTier: "default", systemFingerprint: "fp_1",
      usage: { input: 19, output: 10, cacheRead: 0, cacheCreation: 0, reasoning: 0 },
      choices: [{
        index: 0, finish: "stop", stopSequence: null, logprobs: null,
        parts: [{ kind: "text", text: "Hello! How can I help? 👋", cache: null, annotations: [], signature: null }]
      }]
    })
  })

  test.each([
    ["tools-parallel", [{ kind: "toolCall", id: "call_1", arguments: "{\"city\":\"Zürich\"}" }, { kind: "toolCall", id: "call_2" }], "tool-calls"],
    ["reasoning-content", [{ kind: "reasoning", text: "Two and two." }, { kind: "text", text: "4" }], "stop"],
    ["reasoning-details-signed", [{ text: "Thinking.", signature: { value: "c2ln" } }, { text: "", id: "rs_9", signature: { value: "ZW5j" } }, { text: "Done." }], "stop"],
    ["reasoning-summary-encrypted", [{ text: "A summary.", summary: true, id: "rs_2", signature: { value: "ZW5jMg==" } }, { text: "Done." }], "stop"],
    ["think-tags", [{ kind: "reasoning", text: "Is it 4?\n" }, { kind: "text", text: "Yes, 4." }], "stop"],
    ["refusal", [{ kind: "refusal", text: "I cannot help with that." }], "refusal"],
    ["length", [{ text: "Once upon a" }], "length"],
    ["content-filter", [], "content-filter"],
    ["citations", [{ kind: "text", annotations: [{ kind: "url", url: "https://example.com/rain", title: "Rain", start: 10, end: 13 }] }], "stop"],
    ["content-parts", [{ kind: "reasoning", text: "Hmm." }, { kind: "text", text: "Yes." }], "stop"],
    ["call-without-id-object-arguments", [{ kind: "toolCall", id: "call_chatcmplB1_0_0", arguments: "{\"zone\":\"UTC\"}" }], "tool-calls"],
    ["minimal", [{ kind: "text", text: "hi" }], null],
    ["image-output", [{ kind: "text" }, { kind: "image", source: { kind: "base64", mediaType: "image/png" } }], "stop"],
    ["audio-output", [{ kind: "text", text: "Hi." }, { kind: "audio", source: { kind: "base64" } }], "stop"],
    ["custom-call", [{ kind: "toolCall", custom: true, name: "sql", arguments: "SELECT 1;" }], "tool-calls"]
  ])("%s", (name, parts, finish) => {
    const choice = decode(name).choices[0]
    expect(choice?.parts).toHaveLength(parts.length)
    expect(choice?.parts).toMatchObject(parts)
    expect(choice?.finish).toBe(finish)
  })

  test("log probabilities and several choices", () => {
    expect(decode("logprobs").choices[0]?.logprobs).toEqual([{
      token: "Yes", logprob: -0.1, bytes: [89, 101, 115],
      top: [{ token: "Yes", logprob: -0.1, bytes: [89, 101, 115] }, { token: "No", logprob: -2.5, bytes: null }]
    }])
    expect(decode("several-choices").choices.map((choice) => choice.index)).toEqual([0, 1])
  })

  test("an error object inside a 200, and what is no answer", () => {
    expect(upstream.decodeAnswer(named(answers, "error-inside-200"))).toMatchObject({ message: "Upstream is overloaded.", type: "server_error", code: null, status: 503 })
    expect(upstream.decodeAnswer({ hello: 1 })).toBeNull()
  })

  test.each([
    [{ error: { message: "m", type: "t", code: "c" } }, { message: "m", type: "t", code: "c", status: null }],
    [{ error: "m" }, { message: "m", type: null, code: null, status: null }],
    [{ object: "error", message: "m", type: "BadRequest", code: 400 }, { message: "m", type: "BadRequest", code: null, status: 400 }],
    [{}, null]
  ])("error %j", (body, expected) => {
    const read = upstream.readError(body)
    if (expected === null) expect(read).toBeNull()
    else expect(read).toMatchObject(expected)
  })
})

describe("an answer is written", () => {
  test.each(whole)("%s is read again as it was", (name) => {
    const answer = decode(name)
    const written = JSON.parse(client.encodeAnswer(answer, options())) as Json
    expect(written).toMatchObject({ object: "chat.completion", id: expect.stringMatching(/^chatcmpl-/) as string })
    const again = upstream.decodeAnswer(written)
    expect(again).toMatchObject({
      choices: answer.choices.map((choice) => ({ ...choice, finish: choice.finish ?? "stop" })), usage: answer.usage, serviceTier: answer.serviceTier
    })
  })

  test("signatures of another family are sealed, and come back as they were", () => {
    const answer: Answer = {
      ...decode("text"),
      id: "msg_1",
      choices: [{
        index: 0, finish: "tool-calls", stopSequence: null, logprobs: null,
        parts: [
          { kind: "reasoning", text: "Hm.", summary: false, signature: { family: "messages", value: "sig" }, id: null, redacted: false },
          { kind: "reasoning", text: "", summary: false, signature: { family: "messages", value: "hidden" }, id: null, redacted: true },
          { kind: "reasoning", text: "Sum", summary: true, signature: { family: "responses", value: "enc" }, id: "rs_1", redacted: false },
          { kind: "toolCall", id: "c", name: "now", arguments: "", custom: false, cache: null, signature: { family: "generateContent", value: "dGg=" } }
        ]
      }]
    }
    const written = JSON.parse(client.encodeAnswer(answer, options())) as { readonly choices: ReadonlyArray<{ readonly message: Json }>; readonly id: string }
    const message = written.choices[0]?.message ?? {}
    expect(written.id).toBe("chatcmpl-0123456789abcdefghijABCD")
    expect(message).toMatchObject({ content: null, reasoning_content: "Hm.\n\nSum", tool_calls: [{ extra_content: { google: { thought_signature: "dGg=" } } }] })
    const back = client.decodeRequest({ model: "m", messages: [{ role: "user", content: "x" }, message] })
    if (back instanceof PublicError) throw new Error(back.message)
    expect(back.turns[1]?.parts).toEqual(answer.choices[0]?.parts.map((part) => part.kind === "toolCall" ? { ...part, arguments: "{}" } : part))
  })

  test.each(whole)("%s as a stream says the same", (name) => {
    const answer = decode(name)
    const builder = new AnswerBuilder()
    upstream.makeDecoder(builder).push(Buffer.from(streamOf(answer, client, options({ includeUsage: true }))))
    const said = builder.answer()
    const kept = (one: Answer) => one.choices.filter((choice) => choice.parts.length > 0).map((choice) => ({
      finish: choice.finish ?? "stop", logprobs: choice.logprobs,
      parts: choice.parts.map((part) => part.kind === "reasoning" ? { ...part, summary: false, id: null } : part.kind === "audio" ? { ...part, source: null } : part)
    }))
    expect(kept(said)).toEqual(kept(answer))
    expect(said.usage).toEqual(answer.usage)
  })

  test("what the vendor leaves null is null", () => {
    const message = (name: string) => (JSON.parse(client.encodeAnswer(decode(name), options())) as { choices: Array<{ message: Json }> }).choices[0]?.message
    expect(message("refusal")).toEqual({ role: "assistant", content: null, refusal: "I cannot help with that." })
    expect(message("custom-call")).toMatchObject({ content: null, refusal: null })
    expect(message("text")).toEqual({ role: "assistant", content: "Hello! How can I help? 👋", refusal: null })
    expect(partsOf("content-filter")).toEqual([])
  })
})
