import { describe, expect, it } from "vitest"
import { PublicError } from "#schemas/errors.ts"
import type { Answer, FinishReason, ContentPart } from "#schemas/wire/conversation.ts"
import { client, upstream } from "#src/wire/generateContent/index.ts"
import { AnswerBuilder } from "#src/wire/neutral/AnswerBuilder.ts"
import { replay } from "#src/wire/neutral/replay.ts"
import type { StreamSink } from "#src/wire/stream/StreamSink.ts"
import type { Json } from "#src/wire/WireFormat.ts"
import { pushBorrowed } from "#test/support/wire/borrowed.ts"
import { countTerminals } from "#test/support/wire/terminals.ts"
import { chunksOf, decoded, fixture, fixtures, json, options } from "./support.ts"

const encoder = () => client.makeEncoder(options)
const head = { id: "resp", model: "m", createdAt: null, serviceTier: null, systemFingerprint: null }
const error = new PublicError("upstream_reset", 502, "server_error", "The upstream broke off.", 3)
const partsOf = (chunk: Json | undefined): ReadonlyArray<Json> =>
  (chunk?.["candidates"] as ReadonlyArray<{ readonly content: { readonly parts: ReadonlyArray<Json> } }> | undefined)?.[0]?.content.parts ?? []

/** What a stream says as a whole answer, thoughts and texts joined. */
const meaning = (pieces: ReadonlyArray<Buffer>) => {
  const builder = new AnswerBuilder()
  const decoder = upstream.makeDecoder(builder)
  for (const piece of pieces) pushBorrowed(decoder, piece)
  decoder.end()
  return { ...builder.answer(), done: builder.isDone, createdAt: null }
}

/** Passes the first so many events on. */
const first = (count: number, sink: StreamSink): StreamSink => {
  let left = count
  return new Proxy(sink, {
    get: (target, name) => (...args: ReadonlyArray<unknown>): unknown => {
      const method: unknown = Reflect.get(target, name)
      return left-- > 0 && typeof method === "function" ? Reflect.apply(method, target, args) : undefined
    }
  })
}

describe("a stream of this format through the neutral events", () => {
  it.each(fixtures("streams").filter(([name]) => !name.startsWith("error") && name !== "truncated"))("%s comes out with the same meaning", (_, bytes) => {
    const out = encoder()
    const decoder = upstream.makeDecoder(out)
    decoder.push(bytes)
    decoder.end()
    const written = out.take()
    expect(countTerminals("generateContent", written)).toBe(1)
    // Tool tokens count as input; refused prompts come out as refused answers.
    expect(meaning([Buffer.from(written)])).toEqual(meaning([bytes]))
  })

  it.each(fixtures("streams"))("%s: broken anywhere, exactly one end is written, and nothing after it", (_, bytes) => {
    const events = decoded([bytes]).events.length
    for (let at = 0; at <= events; at++) {
      const out = encoder()
      const decoder = upstream.makeDecoder(first(at, out))
      decoder.push(bytes)
      decoder.end()
      const written = out.take() + out.fail(error)
      expect(countTerminals("generateContent", written)).toBe(1)
      for (const chunk of chunksOf(written)) expect(typeof chunk).toBe("object")
      out.text(0, "late")
      out.finish(0, "stop", null)
      out.done()
      expect(out.take() + out.fail(error)).toBe("")
    }
  })
})

describe("the sequence of chunks", () => {
  it("one chunk per piece, calls whole, finish and usage at the end", () => {
    const out = encoder()
    out.start(head)
    out.reasoning(0, "hm", true)
    out.text(0, "He\\u00e9")
    expect(out.take()).toBe(
      'data: {"candidates":[{"content":{"parts":[{"text":"hm","thought":true}],"role":"model"},"index":0}],"modelVersion":"m","responseId":"resp"}\n\n' +
      'data: {"candidates":[{"content":{"parts":[{"text":"He\\u00e9"}],"role":"model"},"index":0}],"modelVersion":"m","responseId":"resp"}\n\n'
    )
    out.toolCall(0, 0, "a", "f", false, { family: "generateContent", value: "c2ln" })
    out.toolArguments(0, 0, '{\\n \\"x\\": 12345678')
    out.toolArguments(0, 0, '901234567890}')
    expect(out.take()).toBe("")
    out.partEnd(0)
    expect(out.take()).toContain('{"functionCall":{"id":"a","name":"f","args":{"x": 12345678901234567890}},"thoughtSignature":"c2ln"}')
    out.toolCall(0, 1, "b", "g", false, null)
    out.finish(0, "tool-calls", null)
    expect(partsOf(chunksOf(out.take())[0])).toEqual([{ functionCall: { id: "b", name: "g", args: {} } }])
    out.tokens({ input: 9, output: 7, cacheRead: 2, cacheCreation: 1, reasoning: 3 })
    expect(out.take()).toBe("")
    out.done()
    expect(chunksOf(out.take())).toEqual([{
      candidates: [{ content: { parts: [{ text: "" }], role: "model" }, finishReason: "STOP", index: 0 }],
      usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 16, thoughtsTokenCount: 3, cachedContentTokenCount: 2 },
      modelVersion: "m", responseId: "resp"
    }])
  })

  it("interleaved calls keep their own arguments; custom and invalid ones stay readable", () => {
    const out = encoder()
    out.start({ ...head, id: null, model: null })
    out.toolCall(0, 0, "a", "f", false, null)
    out.toolCall(0, 1, "b", "g", true, null)
    out.toolArguments(0, 1, "free \\\"te")
    out.toolArguments(0, 0, "{bro")
    out.toolArguments(0, 1, "xt")
    out.toolArguments(0, 0, "ken")
    out.text(0, "then")
    const [calls, text] = chunksOf(out.take())
    expect(partsOf(calls)).toEqual([{ functionCall: { id: "a", name: "f", args: { arguments: "{broken" } } }, { functionCall: { id: "b", name: "g", args: { input: 'free "text' } } }])
    expect([partsOf(text), text?.["modelVersion"], text?.["responseId"]]).toEqual([[{ text: "then" }], "asked/model", "a".repeat(24)])
  })

  it("signatures are sealed for a client of this format", () => {
    const out = encoder()
    out.start(head)
    out.reasoning(0, "x", false)
    out.signature(0, { family: "messages", value: "claude" })
    out.hiddenReasoning(0, { family: "messages", value: "secret" }, null)
    const [, signed, hidden] = chunksOf(out.take()).map(partsOf)
    const opened = (part: Json | undefined) => Buffer.from(String(part?.["thoughtSignature"]), "base64").toString()
    expect([opened(signed?.[0]), opened(hidden?.[0])]).toEqual(["gateway-signature:messages:claude", "gateway-signature:messages:secret"])
    expect(signed?.[0]).toMatchObject({ text: "", thought: true })
  })

  it("a call that was cut off is not sent", () => {
    const out = encoder()
    out.start(head)
    out.toolCall(0, 0, "a", "f", false, null)
    out.toolArguments(0, 0, '{\\"x\\":')
    expect(chunksOf(out.fail(error))).toMatchObject([{ error: { code: 502 } }])
  })

  it.each<[FinishReason, string]>([
    ["stop", "STOP"], ["stop-sequence", "STOP"], ["tool-calls", "STOP"], ["length", "MAX_TOKENS"], ["context", "MAX_TOKENS"], ["content-filter", "SAFETY"],
    ["refusal", "SAFETY"], ["pause", "OTHER"]
  ])("%s is %s", (reason, word) => {
    const out = encoder()
    out.start(head)
    out.finish(0, reason, null)
    out.done()
    expect(out.take()).toContain(`"finishReason":"${word}"`)
  })

  it("citations with offsets in bytes of the whole text", () => {
    const out = encoder()
    out.start(head)
    const note = (start: number, end: number) => ({ kind: "url", url: "https://a.test", title: "A", citedText: null, start, end, document: null, native: null } as const)
    out.text(0, "Grüße. ")
    out.annotation(0, note(0, 5))
    out.partEnd(0)
    out.text(0, "Öl")
    out.annotation(0, note(0, 2))
    out.finish(0, "stop", null)
    out.done()
    expect(chunksOf(out.take()).at(-1)).toMatchObject({ candidates: [{ groundingMetadata: {
      groundingChunks: [{ web: { uri: "https://a.test", title: "A" } }],
      groundingSupports: [
        { segment: { startIndex: 0, endIndex: 7, text: "Grüße" }, groundingChunkIndices: [0] }, { segment: { startIndex: 9, endIndex: 12, text: "Öl" }, groundingChunkIndices: [0] }
      ]
    } }] })
  })
})

describe("whole answers", () => {
  const answerOf = (name: string): Answer => upstream.decodeAnswer(json(fixture("answers", name))) as Answer

  it.each(fixtures("answers"))("%s survives its own round trip", (_, bytes) => {
    const first = upstream.decodeAnswer(json(bytes)) as Answer
    const again = upstream.decodeAnswer(JSON.parse(client.encodeAnswer(first, options)) as Json)
    expect(again).toEqual(first)
    const facts = upstream.readAnswer(json(bytes))
    expect(facts).toMatchObject({ usage: first.usage, error: null })
  })

  it.each(fixtures("answers"))("%s as a stream means the same", (_, bytes) => {
    const first = upstream.decodeAnswer(json(bytes)) as Answer
    const out = encoder()
    replay(first, out)
    expect(meaning([Buffer.from(out.take())])).toEqual({ ...first, done: true })
  })

  it("reads parts, signatures and reasons", () => {
    const kinds = (name: string) => answerOf(name).choices[0]?.parts.map((part: ContentPart) => part.kind)
    expect(kinds("thoughts-and-signature")).toEqual(["reasoning", "text"])
    expect(answerOf("thoughts-and-signature")).toMatchObject({ usage: { input: 8, output: 65, reasoning: 64 }, choices: [{ parts: [{ summary: true }, { text: "42", signature: { family: "generateContent" } }], finish: "stop" }] })
    expect(answerOf("calls-parallel")).toMatchObject({ choices: [{ finish: "tool-calls", parts: [{ text: "Looking." }, { id: "fc_1", arguments: '{"city":"Zürich","n":3}', signature: {} }, { id: "fc_2", arguments: "{}", signature: null }] }] })
    expect(answerOf("call-without-id").choices[0]?.parts).toMatchObject([{ id: "call_c7VYaL6kEsKz7dcPq9KMwAE_0", arguments: "{}" }])
    expect(answerOf("prompt-blocked")).toMatchObject({ choices: [{ parts: [], finish: "content-filter" }], usage: { input: 8, output: 0 } })
    expect(answerOf("safety").choices).toMatchObject([{ finish: "content-filter" }])
    expect(answerOf("grounded").choices[0]?.parts[0]).toMatchObject({ annotations: [{ start: 0, end: 17 }, { start: 18, end: 30, title: "Zürich" }, { start: 18, end: 30, title: "Rome" }] })
    expect(answerOf("two-candidates").choices.map((choice) => [choice.index, choice.finish])).toEqual([[0, "stop"], [1, "length"]])
  })

  it("tells errors from answers, and both from neither", () => {
    const body = { error: { code: 400, message: "bad", status: "INVALID_ARGUMENT", details: [{ reason: "API_KEY_INVALID" }] } }
    const read = { message: "bad", type: "INVALID_ARGUMENT", code: "API_KEY_INVALID", status: 400, own: body.error }
    expect([upstream.decodeAnswer(body), upstream.readError(body), upstream.readAnswer(body)?.error]).toEqual([read, read, read])
    expect([upstream.decodeAnswer({}), upstream.readAnswer({}), upstream.readError({})]).toEqual([null, null, null])
  })
})

describe("errors and heartbeats", () => {
  it("is an error object in the vendor's words with our code", () => {
    expect(JSON.parse(client.errorBody(error))).toEqual({ error: {
      code: 502, message: "The upstream broke off.", status: "INTERNAL",
      details: [
        { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "upstream_reset", domain: "gateway" },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "3s" }
      ]
    } })
    const extra = new PublicError("bad_request", 400, "invalid_request_error", "no", null, { param: "contents", n: 1 })
    expect(JSON.parse(client.errorBody(extra))).toMatchObject({ error: { status: "INVALID_ARGUMENT", details: [{ metadata: { param: "contents", n: "1" } }] } })
    expect(client.errorFrames(error)).toBe(`data: ${client.errorBody(error)}\n\n`)
  })

  it("a heartbeat means nothing to a parser", () => {
    const now = new Date(0)
    expect(client.heartbeat(true, now, null)).toBe(": keepalive 1970-01-01T00:00:00.000Z\n\n")
    const bytes = fixture("streams", "line-feeds-and-usage-at-end").toString()
    expect(decoded([Buffer.from(bytes.replaceAll("data: ", `${client.heartbeat(false, now, null)}data: `))])).toEqual(decoded([Buffer.from(bytes)]))
  })
})
