import * as fs from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { make as publicError, PublicError } from "#schemas/errors.ts"
import type { Answer, Conversation } from "#schemas/wire/conversation.ts"
import { client } from "#src/wire/completions/index.ts"
import * as LocalModelServer from "#src/wire/localModelServer/index.ts"
import { none } from "#src/wire/neutral/settings.ts"
import { replay } from "#src/wire/neutral/replay.ts"
import type { EncoderOptions } from "#src/wire/stream/StreamSink.ts"
import type { Json, TargetTraits } from "#src/wire/WireFormat.ts"

const root = new URL("../../golden/completions/", import.meta.url)
const fixtures = (kind: "requests" | "bad") =>
  fs.readdirSync(new URL(`${kind}/`, root)).sort().map((name) => [name, JSON.parse(fs.readFileSync(new URL(`${kind}/${name}`, root), "utf8")) as Json] as const)

const read = (body: Json): Conversation | PublicError => {
  const head = client.head(body)
  return head instanceof PublicError ? head : client.decodeRequest(body)
}
const options: EncoderOptions = { model: "asked/model", includeUsage: false, request: {}, makeId: () => "a".repeat(24), now: () => 1_760_000_000 }
const traits: TargetTraits = { model: "m", stream: true, maxOutputTokens: null, reasoning: null, streamOptions: true, previousResponseId: "auto" }

describe("requests for a text completion", () => {
  const essential: Record<string, string> = { "suffix.json": "suffix", "echo.json": "echo", "best-of.json": "best_of" }
  const refused: Record<string, string> = { "several-prompts.json": "prompt", "token-numbers.json": "prompt" }
  for (const [name, body] of fixtures("requests")) {
    it(`${name} is read, or refused as what no chat model can do`, () => {
      const conversation = read(body)
      const reason = refused[name]
      if (reason !== undefined) {
        expect(conversation).toMatchObject({ code: "capability_unsupported", extra: { param: reason } })
        return
      }
      expect(conversation).toMatchObject({ format: "completions", turns: [{ role: "user", path: "prompt" }], tools: [], toolChoice: null })
      const written = LocalModelServer.upstream.encodeRequest(conversation as Conversation, traits)
      const field = essential[name] ?? ({ "several-choices.json": "n", "logit-bias.json": "logit_bias" } as Record<string, string>)[name]
      if (field === undefined) expect(written).not.toBeInstanceOf(PublicError)
      else expect(written).toMatchObject({ code: "capability_unsupported", extra: { param: field } })
    })
  }

  for (const [name, body] of fixtures("bad")) {
    it(`${name} is refused with the path of the mistake`, () => {
      const { param, request } = body as { request: Json; param: string }
      expect(read(request)).toMatchObject({ status: 400, extra: { param } })
    })
  }

  it("become one user turn with the client's settings, and no limit that the client did not set", () => {
    const all = read({
      model: "m", prompt: "Say", max_tokens: 7, temperature: 0, top_p: 0.5, n: 2, logprobs: 3, stop: "x", presence_penalty: 1, frequency_penalty: -1, seed: 5,
      user: "u", logit_bias: { 1: 2 }, suffix: "s", echo: true, best_of: 3, future: 1
    })
    expect(all).toEqual({
      format: "completions", tools: [], toolChoice: null,
      turns: [{ role: "user", name: null, path: "prompt", parts: [{ kind: "text", text: "Say", cache: null, annotations: [], signature: null }] }],
      settings: {
        ...none, maxTokens: 7, temperature: 0, topP: 0.5, choices: 2, logprobs: true, topLogprobs: 3, stop: ["x"], presencePenalty: 1, frequencyPenalty: -1,
        seed: 5, user: "u", logitBias: { 1: 2 }
      },
      extras: [
        { field: "suffix", weight: "essential", value: "s" }, { field: "echo", weight: "essential", value: true }, { field: "best_of", weight: "essential", value: 3 },
        { field: "future", weight: "hint", value: 1 }
      ]
    })
    expect(read({ model: "m", prompt: ["One"] })).toMatchObject({ settings: none, extras: [], turns: [{ parts: [{ text: "One" }] }] })
  })

  it("have a head of model, stream and usage wish", () => {
    expect(client.head({ model: "m", prompt: "x" })).toEqual({ model: "m", stream: false, wantsUsage: false })
    expect(client.head({ model: "m", prompt: ["x"], stream: true, stream_options: { include_usage: true } })).toEqual({ model: "m", stream: true, wantsUsage: true })
    expect(client.head({ prompt: "x" })).toMatchObject({ extra: { param: "model" } })
    expect(client.head({ model: "m", prompt: "x", stream: 1 })).toMatchObject({ extra: { param: "stream" } })
  })

  it.prop("of any shape are read or refused, never an exception", { body: Arbitrary.schema(Schema.Record(Schema.String, Schema.Json)), value: Arbitrary.schema(Schema.Json) }, ({ body, value }) => {
    for (const candidate of [body, { model: "m", prompt: value }, { model: "m", prompt: "x", ...body }]) read(candidate)
    for (const [, fixture] of fixtures("requests")) for (const key of Object.keys(fixture)) read({ ...fixture, [key]: value })
  })
})

const answer = (over: Partial<Answer["choices"][number]> = {}): Answer => ({
  id: "msg_1", model: null, createdAt: null, serviceTier: null, systemFingerprint: "fp",
  usage: { input: 5, output: 7, cacheRead: 2, cacheCreation: 0, reasoning: 3 },
  choices: [{
    index: 0, finish: "stop", stopSequence: null, logprobs: null,
    parts: [
      { kind: "reasoning", text: "hm", summary: false, signature: null, id: null, redacted: false }, { kind: "text", text: "Grüße 😀", cache: null, annotations: [], signature: null }
    ],
    ...over
  }]
})
const logprobs = [{ token: "Hi", logprob: -0.5, bytes: null, top: [{ token: "Hi", logprob: -0.5, bytes: null }] }, { token: " you", logprob: -1, bytes: null, top: [] }]
const columns = { tokens: ["Hi", " you"], token_logprobs: [-0.5, -1], top_logprobs: [{ Hi: -0.5 }, {}], text_offset: [0, 2] }

describe("text completions for a client", () => {
  it("are the text alone, with the vendor's counts", () => {
    expect(JSON.parse(client.encodeAnswer(answer(), options))).toEqual({
      id: `cmpl-${"a".repeat(24)}`, object: "text_completion", created: 1_760_000_000, model: "asked/model",
      choices: [{ text: "Grüße 😀", index: 0, logprobs: null, finish_reason: "stop" }],
      usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12, prompt_tokens_details: { cached_tokens: 2 }, completion_tokens_details: { reasoning_tokens: 3 } },
      system_fingerprint: "fp"
    })
    const own = JSON.parse(client.encodeAnswer({ ...answer({ logprobs, finish: "context" }), id: "cmpl-7" }, options)) as { id: string; choices: ReadonlyArray<unknown> }
    expect(own).toMatchObject({ id: "cmpl-7", choices: [{ logprobs: columns, finish_reason: "length" }] })
    expect((["content-filter", "refusal", "tool-calls", "pause", "stop-sequence", null] as const).map((finish) =>
      (JSON.parse(client.encodeAnswer(answer({ finish }), options)) as { choices: ReadonlyArray<{ finish_reason: string }> }).choices[0]?.finish_reason
    )).toEqual(["content_filter", "content_filter", "stop", "stop", "stop", "stop"])
  })

  const frames = (text: string) => text.trimEnd().split("\n\n").map((frame) => frame.slice("data: ".length))
  const parsed = (text: string) => frames(text).map((data) => data === "[DONE]" ? data : JSON.parse(data) as unknown)
  const head = { id: `cmpl-${"a".repeat(24)}`, object: "text_completion", created: 1_760_000_000, model: "asked/model" }

  it("are streamed as text, a reason for each choice, usage when it was asked for, and the terminator", () => {
    for (const includeUsage of [true, false]) {
      const encoder = client.makeEncoder({ ...options, includeUsage })
      encoder.start({ id: null, model: null, createdAt: null, serviceTier: null, systemFingerprint: null })
      encoder.reasoning(0, "hm", false)
      encoder.text(0, "a\\\"b")
      encoder.text(1, "other")
      encoder.logprobs(0, [logprobs[0]!])
      encoder.logprobs(0, [logprobs[1]!])
      encoder.finish(1, "length", null)
      encoder.finish(0, "stop", null)
      const pieces = encoder.take()
      expect(pieces).not.toContain('"stop"')
      expect(parsed(pieces)).toMatchObject([
        { choices: [{ text: 'a"b', index: 0, logprobs: null, finish_reason: null }] }, { choices: [{ text: "other", index: 1 }] },
        { choices: [{ text: "", logprobs: { tokens: ["Hi"], text_offset: [0] } }] }, { choices: [{ text: "", logprobs: { tokens: [" you"], text_offset: [2] } }] }
      ])
      encoder.tokens({ input: 1, output: 2, cacheRead: 0, cacheCreation: 0, reasoning: 0 })
      encoder.done()
      encoder.done()
      encoder.text(0, "late")
      const rest = includeUsage ? { usage: null } : {}
      expect(parsed(encoder.take())).toEqual([
        { ...head, choices: [{ text: "", index: 1, logprobs: null, finish_reason: "length" }], ...rest }, { ...head, choices: [{ text: "", index: 0, logprobs: null, finish_reason: "stop" }], ...rest },
        ...(includeUsage ? [{ ...head, choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } }] : []), "[DONE]"
      ])
    }
  })

  it("have the text and the log probabilities of each piece", () => {
    const encoder = client.makeEncoder(options)
    replay(answer({ logprobs, parts: [{ kind: "text", text: "Hi you", cache: null, annotations: [], signature: null }, { kind: "refusal", text: "No" }] }), encoder)
    expect(parsed(encoder.take())).toMatchObject([
      { choices: [{ text: "Hi you", index: 0, logprobs: null, finish_reason: null }], system_fingerprint: "fp" }, { choices: [{ text: "No" }] },
      { choices: [{ text: "", logprobs: columns }] }, { choices: [{ finish_reason: "stop" }] }, "[DONE]"
    ])
  })

  it("that break anywhere end with one error and the terminator", () => {
    const error = new PublicError("upstream_reset", 502, "server_error", "reset")
    const steps: ReadonlyArray<(to: ReturnType<typeof client.makeEncoder>) => void> = [
      (to) => to.start({ id: null, model: null, createdAt: null, serviceTier: null, systemFingerprint: null }), (to) => to.text(0, "a"), (to) => to.finish(0, "stop", null), (to) => to.done()
    ]
    for (let broken = 0; broken <= steps.length; broken++) {
      const encoder = client.makeEncoder(options)
      for (const step of steps.slice(0, broken)) step(encoder)
      const all = encoder.fail(error)
      expect(all.match(/\[DONE\]/g)).toHaveLength(1)
      expect((all.match(/"error"/g) ?? []).length).toBe(broken === steps.length ? 0 : 1)
      encoder.text(0, "late")
      encoder.done()
      expect(encoder.fail(error) + encoder.take()).toBe("")
    }
  })

  it("come from a local model server's stream", () => {
    const encoder = client.makeEncoder(options)
    const decoder = LocalModelServer.upstream.makeDecoder(encoder)
    decoder.push(fs.readFileSync(new URL("../local-model-server/streams/escapes-and-split-surrogates.ndjson", root)))
    const texts = parsed(encoder.take()).flatMap((one) => typeof one === "string" ? [] : (one as { choices: ReadonlyArray<{ text: string }> }).choices.map((choice) => choice.text))
    expect(texts.join("")).toBe('😀<b> &\\"')
  })

  it("have errors of the common form and heartbeats that mean nothing", () => {
    const error = publicError("bad_request", "no", { extra: { param: "prompt" } })
    expect(JSON.parse(client.errorBody(error))).toEqual({ error: { message: "no", type: "invalid_request_error", code: "bad_request", param: "prompt" } })
    expect(client.errorFrames(error)).toBe(`data: ${client.errorBody(error)}\n\ndata: [DONE]\n\n`)
    expect(client.heartbeat(true, new Date(0), null)).toBe(": keepalive 1970-01-01T00:00:00.000Z\n\n")
    expect(parsed(client.heartbeat(false, new Date(0), { id: "cmpl-1", object: "text_completion" }))).toMatchObject([{ id: "cmpl-1", object: "text_completion", choices: [{ text: "" }] }])
  })
})
