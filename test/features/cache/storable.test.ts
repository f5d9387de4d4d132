/** Which answers may be given again, one by one, and streams that are read into the whole answer that they are. */
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import type { Answer, Choice, ContentPart, FinishReason } from "#schemas/wire/conversation.ts"
import * as Storable from "#src/features/cache/storable.ts"

const text: ContentPart = { kind: "text", text: "4" } as unknown as ContentPart
const empty: ContentPart = { kind: "text", text: "" } as unknown as ContentPart
const reasoning = { kind: "reasoning", text: "2 and 2" } as unknown as ContentPart
const call = { kind: "tool-call", id: "c", name: "f", arguments: "{}" } as unknown as ContentPart
const refusal = { kind: "refusal", text: "no" } as unknown as ContentPart
const choice = (parts: ReadonlyArray<ContentPart>, finish: FinishReason | null = "stop"): Choice => ({ index: 0, parts, finish, stopSequence: null, logprobs: null })
const answer = (...choices: ReadonlyArray<Choice>): Answer => ({ id: null, model: null, createdAt: null, choices, usage: null, serviceTier: null, systemFingerprint: null })

describe("isStorable", () => {
  const ends: ReadonlyArray<readonly [FinishReason | null, boolean]> = [
    ["stop", true], ["stop-sequence", true], ["length", true], ["tool-calls", false], ["content-filter", false], ["refusal", false], ["pause", false], ["context", false], [null, false]
  ]
  it.each(ends)("a text that ended by %s: %s", (finish, kept) => {
    assert.strictEqual(Storable.isStorable(answer(choice([text], finish))), kept)
  })

  const contents: ReadonlyArray<readonly [string, ReadonlyArray<ContentPart>, boolean]> = [
    ["text behind reasoning", [reasoning, text], true], ["an empty text beside another", [empty, text], true],
    ["nothing", [], false], ["an empty text", [empty], false], ["reasoning alone", [reasoning], false],
    ["a call", [call], false], ["a call beside text", [text, call], false], ["a refusal beside text", [text, refusal], false]
  ]
  it.each(contents)("%s", (_, parts, kept) => {
    assert.strictEqual(Storable.isStorable(answer(choice(parts))), kept)
  })

  it("needs every choice to be whole, and one at least", () => {
    assert.isFalse(Storable.isStorable(answer()))
    assert.isTrue(Storable.isStorable(answer(choice([text]), choice([text], "length"))))
    assert.isFalse(Storable.isStorable(answer(choice([text]), choice([text], "content-filter"))))
  })
})

describe("a stream that is read", () => {
  const frame = (delta: object, finish: string | null) => `data: ${JSON.stringify({ id: "i", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
  const whole = Buffer.from(`${frame({ role: "assistant", content: "fo" }, null)}${frame({ content: "ur" }, null)}${frame({}, "stop")}data: [DONE]\n\n`)
  const read = (bytes: Buffer, room: number, format: "chat-completions" | "completions" = "chat-completions") => {
    const assembler = new Storable.Assembler(format, room)
    for (let at = 0; at < bytes.length; at += 50) assembler.push(bytes.subarray(at, at + 50))
    return assembler.end()
  }

  it("is its whole answer when all of it came, and has room", () => {
    assert.deepStrictEqual(read(whole, whole.length)?.choices.map(({ finish, parts }) => [finish, parts.map((part) => "text" in part ? part.text : "")]), [["stop", ["four"]]])
    assert.isNull(read(whole, whole.length - 1))
    assert.isNull(read(whole, whole.length, "completions"))
  })

  it("is none when it broke off, is no stream or ends with an error", () => {
    const part = read(Buffer.from(frame({ content: "fo" }, null)), 10_000)
    assert.isFalse(part !== null && Storable.isStorable(part))
    assert.isNull(read(Buffer.from("data: {broken\n\ndata: [DONE]\n\n"), 10_000))
    assert.isNull(read(Buffer.from(`${frame({ content: "fo" }, null)}data: {"error":{"message":"gone"}}\n\n`), 10_000))
  })
})

it("a body is read as its format's whole answer; what is none is none", () => {
  const whole = readFileSync(new URL("../../golden/chat-completions/answers/text.json", import.meta.url))
  const kept = Storable.read("chat-completions", whole)
  assert.isTrue(kept !== null && Storable.isStorable(kept))
  for (const body of ["", "[]", "{", "{\"error\":{\"message\":\"no\"}}"]) assert.isNull(Storable.read("chat-completions", Buffer.from(body)), body)
  assert.isNull(Storable.read("completions", Buffer.from("{\"choices\":[]}")))
})
