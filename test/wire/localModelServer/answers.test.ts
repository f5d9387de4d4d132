import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { make as publicError } from "#schemas/errors.ts"
import type { Answer } from "#schemas/wire/conversation.ts"
import { client, upstream } from "#src/wire/localModelServer/index.ts"
import { show, shown, tags, version } from "#src/wire/localModelServer/tags.ts"
import { AnswerBuilder } from "#src/wire/neutral/AnswerBuilder.ts"
import { replay } from "#src/wire/neutral/replay.ts"
import { fixtures, json, options } from "#test/wire/localModelServer/support.ts"

const answers = fixtures("answers").map(([name, bytes]) => [name, json(bytes)] as const)
const of = (name: string) => (answers.find(([file]) => file === `${name}.json`) as (typeof answers)[number])[1]
const read = (name: string) => upstream.decodeAnswer(of(name)) as Answer

describe("answers of a local model server", () => {
  for (const [name, body] of answers) {
    it(`${name}: read, written and read again, it says the same`, () => {
      const answer = upstream.decodeAnswer(body)
      expect(answer).not.toBeNull()
      if (answer === null || !("choices" in answer)) return
      const again = upstream.decodeAnswer(JSON.parse(client.encodeAnswer(answer, options)) as Record<string, unknown>) as Answer
      expect(again).toEqual(answer)
      const stream = client.makeEncoder(options)
      replay(answer, stream)
      const builder = new AnswerBuilder()
      const decoder = upstream.makeDecoder(builder)
      expect(decoder.push(Buffer.from(stream.take())) && decoder.end()).toBe(true)
      expect({ ...builder.answer(), choices: builder.answer().choices.map((choice) => choice.parts) }).toEqual({ ...answer, choices: answer.choices.map((choice) => choice.parts) })
    })
  }

  it("are read with usage, reason, thoughts, calls, images and log probabilities", () => {
    expect(read("plain")).toMatchObject({ model: "llama3.2", createdAt: 1_760_742_847, usage: { input: 26, output: 282 }, choices: [{ finish: "stop" }] })
    expect(read("thinking").choices[0]?.parts.map((part) => part.kind)).toEqual(["reasoning", "text"])
    expect(read("think-tags").choices[0]?.parts).toMatchObject([{ kind: "reasoning", text: "Two and two.\n" }, { kind: "text", text: "4" }])
    expect(read("tool-calls-parallel").choices[0]).toMatchObject({ finish: "tool-calls", parts: [{ id: "call_a1", arguments: '{"city":"Malmö"}' }, { id: "call_a2", arguments: "{}" }] })
    expect(read("tool-call-without-id").choices[0]?.parts[1]).toMatchObject({ id: expect.stringMatching(/^call_[a-z0-9]{14}$/) as string })
    expect(read("length").choices[0]?.finish).toBe("length")
    expect(read("logprobs").choices[0]?.logprobs).toMatchObject([{ token: "Hi", bytes: [72, 105], top: [{ token: "Hi" }, { token: "Hello" }] }])
    expect(read("image").choices[0]?.parts).toMatchObject([{ kind: "image", source: { mediaType: "image/png" } }])
    expect(read("no-counts").usage).toBeNull()
    expect(read("prompt-cached").usage).toMatchObject({ input: 0, output: 1 })
    expect(upstream.decodeAnswer(of("error-in-200"))).toEqual({ message: "model runner has unexpectedly stopped", type: null, code: null, status: null })
    expect(upstream.decodeAnswer({ models: [] })).toBeNull()
  })

  it("are judged without being translated", () => {
    const facts = upstream.readAnswer(of("thinking"))
    expect([facts?.usage?.output, facts?.error, facts?.outputText()]).toEqual([282, null, "Two and two.\nThat is four.4"])
    expect(upstream.readAnswer({})).toBeNull()
    expect(upstream.readAnswer(of("error-in-200"))?.error?.message).toBe("model runner has unexpectedly stopped")
    expect(upstream.readError({ error: { message: "m", type: "t", code: "c" } })).toEqual({ message: "m", type: "t", code: "c", status: null })
    expect(upstream.readError({ error: "" })).toBeNull()
  })

  it("of another format keep their words", () => {
    const answer: Answer = {
      id: "chatcmpl-1", model: null, createdAt: null, usage: null, serviceTier: null, systemFingerprint: null,
      choices: [{ index: 0, finish: "refusal", stopSequence: null, logprobs: null, parts: [{ kind: "refusal", text: "No." }] }]
    }
    expect(JSON.parse(client.encodeAnswer(answer, options))).toEqual({
      model: "asked/model", created_at: "2025-10-09T08:53:20.000Z", message: { role: "assistant", content: "No." }, done: true, done_reason: "content_filter",
      total_duration: 0, load_duration: 0, prompt_eval_duration: 0, eval_duration: 0
    })
  })

  it.prop("of any shape are read or not, never an exception", { body: Arbitrary.schema(Schema.Record(Schema.String, Schema.Json)) }, ({ body }) => {
    for (const candidate of [body, { message: body, ...body }, { message: { tool_calls: [body, { function: body }], images: [body] }, logprobs: [body], done: true }]) {
      upstream.decodeAnswer(candidate)
      upstream.readAnswer(candidate)?.outputText()
      upstream.readError(candidate)
      const decoder = upstream.makeDecoder(client.makeEncoder(options))
      decoder.push(Buffer.from(`${JSON.stringify(candidate)}\n${JSON.stringify(candidate)}`))
      decoder.end()
    }
  })
})

describe("errors for a client of a local model server", () => {
  // The published SDK throws `new Error(body.error)` for a status and for a line: an object there is shown as "[object Object]".
  const shownBySdk = (text: string): string => new Error((JSON.parse(text) as { error: string }).error).message

  it("show their message in the vendor's SDK", () => {
    const error = publicError("bad_request", "Field 'think' is wrong.", { extra: { param: "think" } })
    expect(shownBySdk(client.errorBody(error))).toBe("Field 'think' is wrong.")
    expect(shownBySdk(client.errorFrames(error))).toBe("Field 'think' is wrong.")
    expect(JSON.parse(client.errorBody(error))).toEqual({ error: "Field 'think' is wrong.", type: "invalid_request_error", code: "bad_request", param: "think" })
    expect(client.errorFrames(error)).toBe(`${client.errorBody(error)}\n`)
  })
})

describe("what such a client asks before it chats", () => {
  const model = { id: "openai/gpt", provider: "openai", createdAt: 0, contextLength: 128_000, maxOutputTokens: null, tools: true, vision: true, thinking: false }
  it("lists, names and shows models", () => {
    expect(tags([model])).toMatchObject({ models: [{ name: "openai/gpt", model: "openai/gpt", modified_at: "1970-01-01T00:00:00.000Z", digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string, details: { family: "openai" } }] })
    expect(tags([model, { ...model, id: "b" }]).models.map((one) => one.digest)).toSatisfy((digests: ReadonlyArray<string>) => digests[0] !== digests[1])
    expect(version().version).toMatch(/^0\.(?:[7-9]|\d\d)\./)
    expect(show(model)).toMatchObject({ capabilities: ["completion", "tools", "vision"], model_info: { "openai.context_length": 128_000 }, details: { family: "openai" } })
    expect([shown({ model: "a" }), shown({ name: "b" }), shown({ model: 7 })]).toEqual(["a", "b", null])
  })
})
