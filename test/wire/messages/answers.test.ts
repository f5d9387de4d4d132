import { describe, expect, it } from "@effect/vitest"
import { PublicError } from "#schemas/errors.ts"
import type { Answer, ContentPart } from "#schemas/wire/conversation.ts"
import { streamOf as replayed } from "#src/wire/dialects.ts"
import { estimatedReply, providerReply, readCountRequest } from "#src/wire/messages/request/countTokens.ts"
import { client, upstream } from "#src/wire/messages/index.ts"
import * as Signatures from "#src/wire/signatures.ts"
import { answerOf, events, fixtures, json, options, requestOf } from "#test/wire/messages/support.ts"

const read = (name: string): Answer => {
  const answer = upstream.decodeAnswer(answerOf(name))
  if (answer === null || !("choices" in answer)) throw new Error(`no answer: ${name}`)
  return answer
}
const written = (answer: Answer) => json(Buffer.from(client.encodeAnswer(answer, options)))
const answer = (parts: ReadonlyArray<ContentPart>, over: Partial<Answer["choices"][number]> = {}): Answer => ({
  id: "chatcmpl-1", model: null, createdAt: 1, usage: null, serviceTier: null, systemFingerprint: null,
  choices: [{ index: 0, parts, finish: "stop", stopSequence: null, logprobs: null, ...over }]
})
const call = (args: string, over: object = {}): ContentPart => ({ kind: "toolCall", id: "c", name: "f", arguments: args, custom: false, cache: null, signature: null, ...over })

describe("messages answers", () => {
  for (const [name, bytes] of fixtures("answers")) {
    if (name === "error-object") continue
    it(`${name}: written again it says the same`, () => {
      const given = json(bytes)
      const again = written(read(name))
      const { content, stop_reason, stop_sequence, id, model } = given
      expect(again).toMatchObject({ content, stop_reason, stop_sequence, id, model, type: "message", role: "assistant" })
      const { output_tokens_details: _, server_tool_use: __, cache_creation, ...usage } = given["usage"] as Record<string, unknown>
      // The split of writes is told only where some are kept for an hour.
      expect(again["usage"]).toEqual(read(name).usage?.cacheCreationHour === undefined ? usage : { ...usage, cache_creation })
    })

    it(`${name}: as a stream it says the same, as far as a stream of another format's can`, () => {
      const whole = read(name)
      const { events: told } = events([Buffer.from(replayed(whole, client, options))])
      const texts = (kind: string, at: number) => told.filter(([event]) => event === kind).map((event) => event[at]).join("|")
      const parts = whole.choices[0]!.parts
      expect(texts("text", 2)).toBe(parts.flatMap((part) => part.kind === "text" ? [part.text] : []).join("|"))
      expect(texts("toolArguments", 3)).toBe(parts.flatMap((part) => part.kind === "toolCall" ? [part.arguments] : []).join("|"))
      expect(told.filter(([event]) => event === "annotation")).toHaveLength(parts.flatMap((part) => part.kind === "text" ? part.annotations : []).length)
      expect(told.at(-1)).toEqual(["done"])
      expect(told.findLast(([event]) => event === "tokens")?.[1]).toEqual({ ...whole.usage, reasoning: 0 })
    })
  }

  it("usage, parts and ends", () => {
    expect(read("cache-usage")).toMatchObject({ usage: { input: 188_619, output: 393, cacheRead: 512, cacheCreation: 188_086 }, serviceTier: "priority" })
    expect(read("thinking-signed")).toMatchObject({ usage: { reasoning: 40 }, choices: [{ parts: [{ kind: "reasoning", text: "Let me see.\nYes.", signature: { family: "messages" } }, { kind: "text" }] }] })
    expect(read("thinking-redacted").choices[0]!.parts[0]).toMatchObject({ redacted: true, text: "" })
    expect(read("stop-sequence").choices[0]).toMatchObject({ finish: "stop-sequence", stopSequence: "END" })
    expect(read("refusal").choices[0]).toMatchObject({ finish: "refusal", parts: [] })
    expect(read("server-tools").choices[0]!.parts.map((part) => part.kind)).toEqual(["opaque", "opaque", "text"])
  })

  it("an error object in a 200, and what is no answer", () => {
    const overloaded = { message: "Overloaded", type: "overloaded_error", code: null, status: 529 }
    expect(upstream.decodeAnswer(answerOf("error-object"))).toMatchObject(overloaded)
    expect(upstream.readAnswer(answerOf("error-object"))).toMatchObject({ error: overloaded, usage: null })
    expect(upstream.readError(answerOf("error-object"))).toMatchObject(overloaded)
    expect(upstream.readError({ error: "no" })).toEqual({ message: "no", type: null, code: null, status: null })
    expect(upstream.decodeAnswer({ choices: [] })).toBe(null)
    expect(upstream.readAnswer({ choices: [] })).toBe(null)
  })

  it("facts of an answer that is passed on", () => {
    expect(upstream.readAnswer(answerOf("tools-parallel"))?.outputText()).toBe('I check both.get_weather{"city":"Zürich"}now{}')
    expect(upstream.readAnswer(answerOf("cache-usage"))?.usage).toEqual(read("cache-usage").usage)
  })

  it("answers of other families", () => {
    expect(written(answer([call('{"n":1}')]))).toMatchObject({ id: `msg_${"a".repeat(24)}`, model: "asked/model", stop_reason: "tool_use", content: [{ type: "tool_use", id: "c", name: "f", input: { n: 1 } }] })
    expect(client.encodeAnswer(answer([call('{"n":12345678901234567890}')]), options)).toContain('"input":{"n":12345678901234567890}')
    expect(written(answer([call("oops"), call("say", { custom: true }), call("")]))["content"]).toMatchObject([{ input: { arguments: "oops" } }, { input: { input: "say" } }, { input: {} }])
    expect(written(answer([{ kind: "refusal", text: "No." }]))).toMatchObject({ stop_reason: "refusal", content: [{ type: "text", text: "No." }] })
    const sealed = { family: "generateContent", value: "s" } as const
    expect(written(answer([call("{}", { signature: sealed })]))["content"]).toEqual([
      { type: "thinking", thinking: "", signature: Signatures.seal({ ...sealed, value: "of-call:s" }, "messages") }, { type: "tool_use", id: "c", name: "f", input: {} }
    ])
    const unsigned: ContentPart = { kind: "reasoning", text: "hm", summary: true, signature: null, id: null, redacted: false }
    expect(written(answer([unsigned]))["content"]).toEqual([{ type: "thinking", thinking: "hm", signature: Signatures.unsigned }])
    expect(written({ ...answer([]), choices: [] })).toMatchObject({ content: [], stop_reason: "end_turn", usage: { input_tokens: 0, output_tokens: 0 } })
  })

  it("signatures survive the client: given back as they came, they find their family", () => {
    const parts: ReadonlyArray<ContentPart> = [
      { kind: "reasoning", text: "", summary: false, signature: { family: "responses", value: "enc" }, id: null, redacted: false },
      { kind: "text", text: "t", cache: null, annotations: [], signature: { family: "generateContent", value: "a" } },
      call("{}", { object: {}, signature: { family: "generateContent", value: "b" } })
    ]
    const { content } = written(answer(parts))
    const back = client.decodeRequest({ model: "m", messages: [{ role: "user", content: "x" }, { role: "assistant", content }] })
    if (back instanceof PublicError) throw new Error(back.message)
    expect(back.turns[1]!.parts).toEqual(parts)
  })
})

describe("count_tokens", () => {
  it("reads every request there is, without a limit", () => {
    for (const [name, bytes] of fixtures("requests")) {
      const { max_tokens: _, ...body } = json(bytes)
      const read = readCountRequest(body)
      expect(read, name).not.toBeInstanceOf(PublicError)
    }
    expect(readCountRequest({ model: "m", messages: [{ role: "user", content: [{ type: "text" }] }] })).toMatchObject({ extra: { param: "messages[0].content[0].text" } })
  })

  it("counts text and the rest by fixed costs", () => {
    expect(readCountRequest(requestOf("plain-text"))).toEqual({ text: "Hello, Claude", fixedTokens: 4 })
    expect(readCountRequest(requestOf("images"))).toMatchObject({ text: "Compare these.", fixedTokens: 4 + 2 * 1533 })
    expect(readCountRequest(requestOf("tools"))).toMatchObject({ fixedTokens: 4 + 346 })
    expect(readCountRequest(requestOf("tools-parallel-results"))).toMatchObject({ text: expect.stringContaining("no such station") as unknown })
  })

  it("replies", () => {
    expect(json(Buffer.from(estimatedReply(7)))).toEqual({ input_tokens: 7, source: "estimated" })
    expect(json(Buffer.from(providerReply({ input_tokens: 9 }, "m", "anthropic") ?? ""))).toEqual({ input_tokens: 9, model: "m", provider: "anthropic", source: "provider" })
    expect(providerReply({}, "m", "p")).toBe(null)
  })
})
