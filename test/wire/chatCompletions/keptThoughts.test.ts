/** Thoughts of past tool calls in a chat's messages, as bytes, as a body and in the neutral form; and how they are read from an answer. */
import { describe, expect, it } from "vitest"
import type { Conversation } from "#schemas/wire/conversation.ts"
import * as ChatCompletions from "#src/wire/chatCompletions/index.ts"
import { wantsReasoning } from "#src/wire/chatCompletions/models.ts"
import * as KeptThoughts from "#src/wire/chatCompletions/request/keptThoughts.ts"
import { hearing } from "#src/wire/chatCompletions/stream/hearing.ts"
import * as Splice from "#src/wire/json/splice.ts"
import { AnswerBuilder } from "#src/wire/neutral/AnswerBuilder.ts"
import { chance } from "#test/support/chance.ts"
import { byBytes, everyCut, randomCut } from "#test/support/wire/splits.ts"

const call = (id: string) => ({ id, type: "function", function: { name: "look", arguments: "{\"at\":12345678901234567890}" } })
const recall = (id: string): string | null => id.startsWith("call_known") ? `thoughts of ${id} "é"\n` : null

const user = { role: "user", content: "What is there?" }
const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "A cat." })

const cases: ReadonlyArray<readonly [label: string, message: Record<string, unknown>, reasoning: unknown]> = [
  ["what is remembered", { role: "assistant", content: null, tool_calls: [call("call_known")] }, recall("call_known")],
  ["the first that is remembered of several", { role: "assistant", content: "I look.", tool_calls: [call("call_new"), call("call_known2")] }, recall("call_known2")],
  ["an empty text where nothing is", { role: "assistant", content: null, tool_calls: [call("call_new")] }, ""],
  ["what the client says by another name", { role: "assistant", content: null, reasoning: "Mine.", tool_calls: [call("call_known")] }, "Mine."],
  ["a null that the client says is none", { role: "assistant", content: null, reasoning_content: null, tool_calls: [call("call_known")] }, recall("call_known")],
  ["what the client says stays", { role: "assistant", content: null, reasoning_content: "Mine.", tool_calls: [call("call_known")] }, "Mine."],
  ["an empty text of the client's stays", { role: "assistant", content: null, reasoning_content: "", tool_calls: [call("call_known")] }, ""],
  ["a turn without calls", { role: "assistant", content: "A cat." }, undefined],
  ["a turn with no call in its list", { role: "assistant", content: "A cat.", tool_calls: [] }, undefined]
]

const written = (body: Record<string, unknown>, space?: number): Record<string, unknown> => {
  const bytes = Buffer.from(JSON.stringify(body, null, space))
  return JSON.parse(String(Splice.edit(bytes, body, KeptThoughts.editsOf(bytes, body, recall)))) as Record<string, unknown>
}

describe("a chat body gets", () => {
  it.each(cases)("%s", (_label, message, reasoning) => {
    const body = { model: "m", messages: [user, message, user] }
    const wanted = { ...body, messages: [user, reasoning === undefined ? message : { ...message, reasoning_content: reasoning }, user] }
    expect(KeptThoughts.ofBody(body, recall)).toEqual(wanted)
    expect(written(body)).toEqual(wanted)
    expect(written(body, 2)).toEqual(wanted)
  })

  it("nothing, and stays the same, when no turn lacks them", () => {
    const body = { model: "m", messages: [user, { role: "assistant", content: "A cat." }] }
    expect(KeptThoughts.ofBody(body, recall)).toBe(body)
    expect(KeptThoughts.editsOf(Buffer.from(JSON.stringify(body)), body, recall)).toEqual([])
  })

  it("its other messages byte for byte, for any mix of turns and spaces", () => {
    const { below, one, seed } = chance()
    const known = [user, result("call_known"), { role: "user", content: "\u{1F600} [1,{\"a\":\"]\"}]" }, ...cases.map(([, message]) => message)]
    for (let round = 0; round < 200; round++) {
      const body = { before: [1, "]"], messages: Array.from({ length: 1 + below(12) }, () => one(known)), model: "m" }
      expect(written(body, one([undefined, 1, 4])), `seed ${seed}`).toEqual(KeptThoughts.ofBody(body, recall))
    }
    // A number that no double holds passes as it was written.
    const text = `{"model":"m","messages":[{"role":"user","content":"x","at":12345678901234567890},${JSON.stringify(cases[2]?.[1])} , {"role":"user","content":"y","n":1.0}]}`
    const bytes = Buffer.from(text)
    const parsed = JSON.parse(text) as Record<string, unknown>
    const said = String(Splice.edit(bytes, parsed, KeptThoughts.editsOf(bytes, parsed, recall)))
    expect(said).toContain("\"at\":12345678901234567890}")
    expect(said).toContain(" , {\"role\":\"user\",\"content\":\"y\",\"n\":1.0}]}")
    expect((JSON.parse(said) as { messages: ReadonlyArray<unknown> }).messages[1]).toEqual({ ...cases[2]?.[1], reasoning_content: "" })
  })
})

describe("a conversation of another format", () => {
  const traits = (model: string) => ({ model, stream: false, maxOutputTokens: null, reasoning: null, streamOptions: true, previousResponseId: "auto" as const })
  const sent = (model: string, message: Record<string, unknown>): unknown => {
    const conversation = ChatCompletions.client.decodeRequest({ model, messages: [user, message, ...(message["tool_calls"] as ReadonlyArray<{ id: string }>).map(({ id }) => result(id))] }) as Conversation
    const encoded = ChatCompletions.upstream.encodeRequest(KeptThoughts.ofConversation(conversation, recall), traits(model)) as { body: string }
    return (JSON.parse(encoded.body) as { messages: ReadonlyArray<Record<string, unknown>> }).messages[1]?.["reasoning_content"]
  }

  it("is said with its thoughts to a model that wants them, and with an empty text where none are known", () => {
    expect(sent("deepseek-v4-pro", cases[0]![1])).toBe(recall("call_known"))
    expect(sent("deepseek-v4-pro", cases[2]![1])).toBe("")
    expect(sent("deepseek-v4-pro", cases[5]![1])).toBe("Mine.")
    expect(sent("qwen3-max", cases[2]![1])).toBeUndefined()
  })
})

describe("names of models", () => {
  it.each([
    "deepseek-chat", "deepseek-reasoner", "deepseek-v3.2", "deepseek-ai/DeepSeek-V4-Pro", "deepseek-v4-flash", "accounts/fireworks/models/deepseek-v3p2",
    "kimi-k2.5", "moonshotai/kimi-k2-thinking", "kimi-k3", "kimi-latest", "mimo-v2-flash"
  ])("%s wants its thoughts", (model) => expect(wantsReasoning(model)).toBe(true))

  it.each(["deepseek-r1", "deepseek-v3", "deepseek-v3.1", "deepseek-coder", "kimi-k2-instruct", "moonshot-v1-8k", "gpt-5", "qwen3-max", "claude-sonnet-4-5"])(
    "%s does not", (model) => expect(wantsReasoning(model)).toBe(false)
  )
})

describe("an answer is heard", () => {
  const answer = (message: Record<string, unknown>) => ({
    id: "c1", object: "chat.completion", created: 1, model: "m", choices: [{ index: 0, finish_reason: "tool_calls", message: { role: "assistant", content: null, ...message } }]
  })
  const listening = () => {
    const heard: Array<readonly [ReadonlyArray<string>, string]> = []
    return { heard, codec: hearing(ChatCompletions.upstream, (ids, reasoning) => void heard.push([ids, reasoning])) }
  }
  const frames = [
    { role: "assistant", content: "" }, { reasoning_content: "I should " }, { reasoning_content: "look \"é\"." },
    { tool_calls: [{ index: 0, id: "call_a", type: "function", function: { name: "look", arguments: "" } }] }, { tool_calls: [{ index: 0, function: { arguments: "{}" } }] },
    { tool_calls: [{ index: 1, id: "call_b", type: "function", function: { name: "look", arguments: "{}" } }] }
  ].map((delta) => ({ delta, finish_reason: null as string | null })).concat({ delta: {} as never, finish_reason: "tool_calls" })
    .map((choice) => `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, ...choice }] })}\n\n`).join("")
  const whole: ReadonlyArray<readonly [ReadonlyArray<string>, string]> = [[["call_a", "call_b"], "I should look \"é\"."]]

  it("whole, forwarded or translated", () => {
    const { codec, heard } = listening()
    codec.readAnswer(answer({ reasoning_content: "I look.", tool_calls: [call("call_a")] }))
    codec.decodeAnswer(answer({ reasoning: "I look again.", tool_calls: [call("call_b")] }))
    for (const message of [{ content: "x", reasoning_content: "No call." }, { tool_calls: [call("call_c")] }]) codec.readAnswer(answer(message))
    expect(heard).toEqual([[["call_a"], "I look."], [["call_b"], "I look again."]])
  })

  it.each([["forwarded", true], ["translated", false]])("as a stream in any pieces, once, %s", (_label, forwarded) => {
    for (const text of [frames, `${frames}data: [DONE]\n\n`]) {
      const bytes = Buffer.from(text)
      for (const pieces of [byBytes(bytes), ...everyCut(bytes), ...Array.from({ length: 50 }, (_, seed) => randomCut(bytes, seed + 1))]) {
        const { codec, heard } = listening()
        const tap = forwarded ? codec.makePassThroughTap({ forwardUsage: false }, null) : codec.makeDecoder(new AnswerBuilder())
        for (const piece of pieces) tap.push(Buffer.from(piece))
        tap.end()
        tap.close()
        expect(heard).toEqual(whole)
      }
    }
  })

  it("at its last event, though its body stays open", () => {
    const { codec, heard } = listening()
    const tap = codec.makePassThroughTap({ forwardUsage: false }, null)
    tap.push(Buffer.from(`${frames}data: [DONE]\n\n`))
    expect(heard).toEqual(whole)
    tap.close()
  })

  it("not when it broke off, failed, or cannot be read", () => {
    for (const rest of ["data: {\"error\":{\"message\":\"overloaded\"}}\n\n", "data: {\n\n"]) {
      const { codec, heard } = listening()
      const tap = codec.makePassThroughTap({ forwardUsage: false }, null)
      tap.push(Buffer.from(frames.slice(0, frames.length / 2 | 0)))
      tap.push(Buffer.from(`\n\n${rest}`))
      tap.end()
      tap.close()
      expect(heard).toEqual([])
    }
    const { codec, heard } = listening()
    const tap = codec.makePassThroughTap({ forwardUsage: false }, null)
    tap.push(Buffer.from(frames))
    tap.close()
    tap.end()
    expect(heard).toEqual([])
  })
})
