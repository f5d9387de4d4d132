import OpenAI from "openai"
import { describe, expect, it } from "@effect/vitest"
import * as Errors from "#schemas/errors.ts"
import type { Annotation, MediaPart } from "#schemas/wire/conversation.ts"
import { replay } from "#src/wire/neutral/replay.ts"
import { client, upstream } from "#src/wire/responses/index.ts"
import { escape } from "#src/wire/stream/literal.ts"
import { open } from "#src/wire/signatures.ts"
import type { StreamEncoder, StreamHead, StreamSink } from "#src/wire/stream/StreamSink.ts"
import { RecordingSink } from "#test/support/wire/RecordingSink.ts"
import { decoded, encoded, eventsOf, fixture, fixtures, options, parsed } from "./support.ts"

const head: StreamHead = { id: "chatcmpl-1", model: "some-model", createdAt: 1_750_000_000, serviceTier: null, systemFingerprint: null }
const usage = { input: 10, output: 5, cacheRead: 4, cacheCreation: 0, reasoning: 2 }
const anthropic = { family: "messages", value: "ErUBsigned" } as const
const google = { family: "generateContent", value: "CsIB" } as const
const image: MediaPart = { kind: "image", source: { kind: "base64", mediaType: "image/png", data: "iVBOR" }, detail: null, name: null, context: null, citations: null, cache: null, signature: null }
const cite: Annotation = { kind: "url", url: "https://x.example", title: "X", citedText: null, start: null, end: null, document: null, native: null }

/** Everything an answer can hold, in the order of a neutral stream. */
const steps: ReadonlyArray<(sink: StreamSink) => void> = [
  (s) => s.start(head),
  (s) => s.reasoning(0, "Let me ", false), (s) => s.reasoning(0, "think\\n", false), (s) => s.signature(0, anthropic), (s) => s.partEnd(0),
  (s) => s.hiddenReasoning(0, anthropic, null), (s) => s.partEnd(0),
  (s) => s.text(0, "Hel"), (s) => s.text(0, "lo \\\"x\\\""), (s) => s.annotation(0, cite), (s) => s.logprobs(0, [{ token: "Hel", logprob: -0.5, bytes: [72], top: [] }]), (s) => s.partEnd(0),
  (s) => s.text(0, "again"), (s) => s.partEnd(0), (s) => s.refusal(0, "no"), (s) => s.partEnd(0),
  (s) => s.toolCall(0, 0, "call_1", "get_weather", false, null), (s) => s.toolArguments(0, 0, "{\\\"city\\\":"), (s) => s.toolArguments(0, 0, "\\\"Oslo\\\"}"),
  (s) => s.toolCall(0, 1, "call_2", "get_time", false, google), (s) => s.partEnd(0),
  (s) => s.toolCall(0, 2, "call_3", "exec", true, null), (s) => s.toolArguments(0, 2, "print(1)"), (s) => s.partEnd(0),
  (s) => s.media(0, image), (s) => s.partEnd(0),
  (s) => s.finish(0, "tool-calls", null), (s) => s.tokens(usage), (s) => s.done()
]

const all = (sink: StreamSink): void => steps.forEach((step) => step(sink))

/** The vendor's accumulator over a stream. */
const accumulated = async (text: string) => {
  const fetch = () => Promise.resolve(new Response(text, { headers: { "content-type": "text/event-stream" } }))
  const sdk = new OpenAI({ apiKey: "k", baseURL: "http://127.0.0.1:1/v1", maxRetries: 0, fetch })
  const seen: Array<string> = []
  const stream = sdk.responses.stream({ model: "m", input: "x" })
  stream.on("event", (event) => seen.push(event.type))
  return { final: await stream.finalResponse(), seen }
}

describe("encoder", () => {
  it("writes the vendor's sequence for reasoning, text and a call", () => {
    const text = encoded((s) => {
      s.start(head)
      s.reasoning(0, "Hm", false)
      s.signature(0, anthropic)
      s.text(0, "a")
      s.text(0, "b")
      s.toolCall(0, 0, "call_1", "f", false, null)
      s.toolArguments(0, 0, "{")
      s.toolArguments(0, 0, "}")
      s.finish(0, "tool-calls", null)
      s.tokens(usage)
      s.done()
    })
    const events = eventsOf(text)
    expect(events.map((event) => event.type.replace("response.", ""))).toEqual([
      "created", "in_progress",
      "output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta", "reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done",
      "output_item.added", "content_part.added", "output_text.delta", "output_text.delta", "output_text.done", "content_part.done", "output_item.done",
      "output_item.added", "function_call_arguments.delta", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done",
      "completed"
    ])
    expect(events.filter((event) => "output_index" in event).map((event) => event["output_index"])).toEqual([...Array<number>(6).fill(0), ...Array<number>(7).fill(1), ...Array<number>(5).fill(2)])
    const thought = events[7]?.["item"] as { readonly encrypted_content: string }
    expect(thought).toMatchObject({ id: `rs_id${"0".repeat(21)}1_0`, summary: [{ type: "summary_text", text: "Hm" }] })
    expect(open(thought.encrypted_content, "responses")).toEqual(anthropic)
    expect(events.at(-1)?.["response"]).toMatchObject({
      id: `resp_id${"0".repeat(21)}1`, status: "completed", model: "some-model", created_at: 1_750_000_000,
      output: events.filter((event) => event.type === "response.output_item.done").map((event) => event["item"]),
      usage: { input_tokens: 10, input_tokens_details: { cached_tokens: 4 }, output_tokens: 5, output_tokens_details: { reasoning_tokens: 2 }, total_tokens: 15 }
    })
  })

  it("text and arguments go out with the event that brought them", () => {
    const encoder = client.makeEncoder(options())
    encoder.start(head)
    encoder.take()
    encoder.text(0, "a")
    expect(encoder.take()).toContain("\"delta\":\"a\",\"logprobs\":[]}\n\n")
    encoder.text(0, "b")
    expect(encoder.take()).toMatch(/^event: response\.output_text\.delta\ndata: \{[^\n]*"delta":"b"[^\n]*\}\n\n$/)
    encoder.toolCall(0, 0, "c", "f", false, null)
    encoder.take()
    encoder.toolArguments(0, 0, "{\\\"a\\\"")
    expect(encoder.take()).toMatch(/^event: response\.function_call_arguments\.delta\ndata: [^\n]*"delta":"\{\\"a\\""\}\n\n$/)
  })

  it("the vendor's client accumulates everything an answer can hold", async () => {
    const text = encoded(all)
    const { final, seen } = await accumulated(text)
    const last = eventsOf(text).at(-1)?.["response"] as { readonly output: ReadonlyArray<{ readonly type: string; readonly id: string }> }
    expect(seen).toEqual(eventsOf(text).map((event) => event.type))
    expect(final.output.map((item) => item.type)).toEqual(["reasoning", "reasoning", "message", "function_call", "reasoning", "function_call", "custom_tool_call", "image_generation_call"])
    expect(final.output_text).toBe("Hello \"x\"again")
    expect(final.output).toMatchObject([
      { summary: [{ text: "Let me think\n" }] }, { summary: [] },
      {
        content: [
          { type: "output_text", text: "Hello \"x\"", annotations: [{ type: "url_citation", url: "https://x.example", start_index: 0, end_index: 9 }], logprobs: [{ token: "Hel", logprob: -0.5, bytes: [72] }] },
          { type: "output_text", text: "again" }, { type: "refusal", refusal: "no" }
        ]
      },
      { call_id: "call_1", name: "get_weather", arguments: "{\"city\":\"Oslo\"}" }, { summary: [] }, { call_id: "call_2", arguments: "{}" }, { call_id: "call_3", input: "print(1)" }, { result: "iVBOR", output_format: "png" }
    ])
    expect(new Set(last.output.map((item) => item.id)).size).toBe(last.output.length)
  })

  it("the response repeats the request with the vendor's defaults", () => {
    const asked = { model: "x", instructions: "Be brief", tools: [{ type: "function", name: "f" }], tool_choice: "required", temperature: 0.3, max_output_tokens: 99, previous_response_id: "resp_0", metadata: { a: "b" }, text: { format: { type: "json_object" } }, reasoning: { effort: "low" }, store: false, user: "u", parallel_tool_calls: false, truncation: "auto" }
    const created = eventsOf(encoded((s) => s.start(head), asked))[0]?.["response"]
    expect(created).toMatchObject({ ...asked, model: "some-model", object: "response", status: "in_progress", top_p: 1, usage: null, error: null, incomplete_details: null, output: [], reasoning: { effort: "low", summary: null }, tools: [{ type: "function", name: "f", strict: true }] })
    expect(eventsOf(encoded((s) => s.start({ ...head, model: null })))[0]?.["response"]).toMatchObject({ model: "lab/model", temperature: 1, tool_choice: "auto", tools: [], store: false, text: { format: { type: "text" } }, metadata: {} })
  })

  it("what cut an answer short makes it incomplete", () => {
    const ended = (reason: Parameters<StreamSink["finish"]>[1], refusal = false) => eventsOf(encoded((s) => {
      s.start(head)
      if (refusal) s.refusal(0, "no")
      else s.text(0, "a")
      s.finish(0, reason, null)
      s.done()
    })).at(-1)
    expect(ended("length")).toMatchObject({ type: "response.incomplete", response: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" }, output: [{ status: "incomplete" }] } })
    expect(ended("context")).toMatchObject({ response: { incomplete_details: { reason: "max_output_tokens" } } })
    expect(ended("content-filter")).toMatchObject({ response: { incomplete_details: { reason: "content_filter" } } })
    expect(ended("refusal")).toMatchObject({ response: { incomplete_details: { reason: "content_filter" } } })
    expect(ended("refusal", true)).toMatchObject({ type: "response.completed" })
    for (const reason of ["stop", "stop-sequence", "tool-calls", "pause"] as const) expect(ended(reason)).toMatchObject({ type: "response.completed", response: { status: "completed" } })
  })

  it("calls whose arguments come mixed are all whole", async () => {
    const text = encoded((s) => {
      s.start(head)
      s.toolCall(0, 0, "call_a", "f", false, null)
      s.toolCall(0, 1, "call_b", "g", false, null)
      for (const piece of ["{", "}"]) {
        s.toolArguments(0, 0, piece)
        s.toolArguments(0, 1, piece)
      }
      s.finish(0, "tool-calls", null)
      s.done()
    })
    expect((await accumulated(text)).final.output).toMatchObject([{ call_id: "call_a", arguments: "{}" }, { call_id: "call_b", arguments: "{}" }])
  })

  it("a call of a namespaced tool is given back under its own name", () => {
    const asked = { tools: [{ type: "namespace", name: "crm", description: "", tools: [{ type: "function", name: "find" }] }] }
    expect(eventsOf(encoded((s) => {
      s.start(head)
      s.toolCall(0, 0, "c", "crm__find", false, null)
      s.done()
    }, asked)).at(-1)?.["response"]).toMatchObject({ output: [{ name: "find", namespace: "crm", arguments: "{}" }] })
  })

  it("log probabilities and signatures that come late still arrive", () => {
    const late = eventsOf(encoded((s) => {
      s.start(head)
      s.reasoning(0, "Hm", true)
      s.partEnd(0)
      s.signature(0, anthropic)
      s.text(0, "a")
      s.signature(0, google)
      s.partEnd(0)
      s.toolCall(0, 0, "c", "f", false, null)
      s.partEnd(0)
      s.logprobs(0, [{ token: "a", logprob: -1, bytes: null, top: [] }])
      s.finish(0, "stop", null)
      s.done()
    })).at(-1)?.["response"] as { readonly output: ReadonlyArray<Record<string, unknown>> }
    expect(open(String(late.output[0]?.["encrypted_content"]), "responses")).toEqual(anthropic)
    expect(late.output[1]).toMatchObject({ content: [{ logprobs: [{ token: "a" }] }] })
    expect(late.output[2]).toMatchObject({ id: expect.stringMatching(/^rs_text_/) as string })
    expect(open(String(late.output[2]?.["encrypted_content"]), "responses")).toEqual(google)
  })

  it("broken anywhere, it ends with exactly one failed response that the vendor's client reads, and stays silent", async () => {
    for (let at = 0; at < steps.length; at++) {
      const encoder: StreamEncoder = client.makeEncoder(options())
      steps.slice(0, at).forEach((step) => step(encoder))
      const text = encoder.fail(Errors.make("upstream_reset", "The upstream broke."))
      const events = eventsOf(text)
      expect(events.filter((event) => /^(response\.(completed|incomplete|failed)|error)$/.test(event.type)).map((event) => event.type)).toEqual(["response.failed"])
      expect(events.at(-1)).toMatchObject({ type: "response.failed", response: { status: "failed", error: { code: "upstream_reset", message: "The upstream broke." } } })
      all(encoder)
      expect([encoder.take(), encoder.fail(Errors.make("upstream_reset", "x"))]).toEqual(["", ""])
      if (at > 0) expect((await accumulated(text)).final, `after ${at} steps`).toMatchObject({ status: "failed", error: { code: "upstream_reset" } })
    }
  })

  it("after the end it writes nothing more", () => {
    const encoder = client.makeEncoder(options())
    all(encoder)
    encoder.take()
    all(encoder)
    expect([encoder.take(), encoder.fail(Errors.make("upstream_reset", "x"))]).toEqual(["", ""])
  })
})

describe("there and back", () => {
  for (const { bytes, name } of fixtures("streams")) {
    const direct = decoded([bytes])
    if (!direct.events.some((event) => event[0] === "done")) continue
    it(`${name}: encoded and decoded again, the same events`, () => {
      const encoder = client.makeEncoder(options())
      upstream.makeDecoder(encoder).push(bytes)
      const again = decoded([Buffer.from(encoder.take())])
      expect(comparable(again.events)).toEqual(comparable(direct.events))
    })

    it(`${name}: the vendor's client reads it`, async () => {
      const encoder = client.makeEncoder(options())
      upstream.makeDecoder(encoder).push(bytes)
      const text = encoder.take()
      const { final } = await accumulated(text)
      expect(final.id).toBe("resp_68a1")
      // The client adds what it parsed of each item; nothing else may differ.
      const { output } = (eventsOf(text).at(-1) as unknown as { readonly response: { readonly output: ReadonlyArray<object> } }).response
      expect(final.output).toHaveLength(output.length)
      expect(final.output).toMatchObject(output)
    })
  }

  for (const { bytes, name } of fixtures("answers")) {
    const answer = upstream.decodeAnswer(parsed(bytes))
    if (answer === null || !("choices" in answer)) continue
    it(`${name}: a whole answer keeps its items, whole or as a stream`, () => {
      const whole = parsed(client.encodeAnswer(answer, options()))
      const original = parsed(bytes)
      const kept = (items: unknown) => (items as ReadonlyArray<Record<string, unknown>>).filter((item) => item["type"] !== "web_search_call" && !(item["type"] === "reasoning" && !("encrypted_content" in item)))
        .map(({ id: _id, status: _status, ...item }) => ({ ...item, ...(item["type"] === "reasoning" ? { id: _id, summary: (item["summary"] as ReadonlyArray<{ text: string }>).map((one) => one.text).join("\n\n") } : {}) }))
      expect(kept(whole["output"])).toEqual(kept(original["output"]))
      for (const field of ["id", "status", "model", "created_at", "incomplete_details", "usage", "object"]) expect(whole[field], field).toEqual(original[field])
      const sink = new RecordingSink()
      replay(answer, sink)
      const streamed = client.makeEncoder(options())
      replay(answer, streamed)
      expect((eventsOf(streamed.take()).at(-1) as unknown as { readonly response: unknown }).response).toEqual(whole)
    })
  }

  it("an upstream's failed answer is an error", () => {
    expect(upstream.decodeAnswer(parsed(fixture("answers", "failed")))).toMatchObject({ message: "The model failed to generate a response.", type: null, code: "server_error", status: null })
    expect(upstream.readError({ error: { message: "no", type: "invalid_request_error", code: "bad", param: null } })).toMatchObject({ message: "no", type: "invalid_request_error", code: "bad", status: null })
    expect([upstream.decodeAnswer({}), upstream.readAnswer({}), upstream.readError({})]).toEqual([null, null, null])
    expect(upstream.readAnswer(parsed(fixture("answers", "tools-parallel")))).toMatchObject({ usage: { input: 40, output: 20 }, error: null })
  })
})

/** Events without what a new writing may change: how pieces are cut, and that the summary is the one form of reasoning. */
const comparable = (events: ReadonlyArray<ReadonlyArray<unknown>>) =>
  events.map((event) => event[0] === "reasoning" ? [event[0], event[1], event[3]] : event[0] === "annotation" ? [event[0], (event[2] as Annotation).url] : [...event])
    .filter((event, i, list) => !(event[0] === "toolArguments" && event[3] === "{}" && list[i - 1]?.[0] === "toolCall"))

describe("words around a stream", () => {
  it("a broken stream before its head, the body of an error and the heartbeat", () => {
    const error = Errors.make("rate_limit_exceeded", "Slow down.", { extra: { param: "x" } })
    expect(parsed(client.errorBody(error))).toEqual({ error: { message: "Slow down.", type: "rate_limit_error", code: "rate_limit_exceeded", param: "x" } })
    expect(eventsOf(client.errorFrames(error))).toMatchObject([{ type: "response.failed", response: { status: "failed", error: { code: "rate_limit_exceeded", message: "Slow down." } } }])
    expect(client.heartbeat(true, new Date(0), null)).toBe(": keepalive 1970-01-01T00:00:00.000Z\n\n")
  })

  it("a heartbeat is nothing to the vendor's client, wherever it stands", async () => {
    const beat = client.heartbeat(false, new Date(0), null)
    expect(beat).not.toContain(":")
    const text = encoded(all)
    const { final } = await accumulated(beat + text.split("\n\n").join(`\n\n${beat}`))
    expect(final.status).toBe("completed")
  })

  it("literals are passed on as they came", () => {
    const text = encoded((s) => {
      s.start(head)
      s.text(0, "\\ud83c")
      s.text(0, "\\udf0d")
      s.text(0, escape("\u0000\"\\"))
      s.done()
    })
    expect(eventsOf(text).at(-1)?.["response"]).toMatchObject({ output: [{ content: [{ text: "🌍\u0000\"\\" }] }] })
  })
})
