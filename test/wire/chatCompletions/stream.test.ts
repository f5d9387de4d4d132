import { describe, expect, test } from "vitest"
import { make } from "#schemas/errors.ts"
import { client, upstream } from "#src/wire/chatCompletions/index.ts"
import { AnswerBuilder } from "#src/wire/neutral/AnswerBuilder.ts"
import type { StreamSink } from "#src/wire/stream/StreamSink.ts"
import { TranslatingTap } from "#src/wire/stream/TranslatingTap.ts"
import { RecordingSink } from "#test/support/wire/RecordingSink.ts"
import { passBorrowed, pushBorrowed } from "#test/support/wire/borrowed.ts"
import { byBytes, everyCut, randomCut } from "#test/support/wire/splits.ts"
import { framesOf, named, options, streams } from "#test/wire/chatCompletions/fixtures.ts"

const decode = (pieces: ReadonlyArray<Buffer>): { readonly events: RecordingSink["events"]; readonly ok: boolean } => {
  const sink = new RecordingSink()
  const decoder = upstream.makeDecoder(sink)
  let ok = true
  for (const piece of pieces) ok = ok && pushBorrowed(decoder, piece)
  const ended = ok && decoder.end()
  return { events: sink.events, ok: ended }
}

const eventsOf = (name: string) => decode([named(streams, name)]).events

const tapped = (pieces: ReadonlyArray<Buffer>) => {
  const tap = upstream.makePassThroughTap({ forwardUsage: false }, null)
  const out: Array<Uint8Array> = []
  for (const piece of [...pieces.map((one) => passBorrowed(tap, one)), tap.end()]) if (piece !== null) out.push(piece)
  return {
    text: Buffer.concat(out).toString(), usage: tap.usage, error: tap.error, malformed: tap.malformed, terminal: tap.terminal,
    finished: tap.finished, useful: tap.useful, output: tap.outputText()
  }
}

const cuts = (bytes: Buffer) => [
  ...everyCut(bytes), byBytes(bytes), ...Array.from({ length: 50 }, (_, seed) => randomCut(bytes, seed + 1))
]

describe.each(streams)("stream %s", (name, bytes) => {
  test("says the same however it is cut", () => {
    const whole = decode([bytes])
    for (const pieces of cuts(bytes)) expect(decode(pieces)).toEqual(whole)
  })

  test("is forwarded the same however it is cut", () => {
    const whole = tapped([bytes])
    for (const pieces of cuts(bytes)) expect(tapped(pieces)).toEqual(whole)
  })

  test("gives the same with shapes unlearnt: every frame alone equals the stream", () => {
    const parsed = decode([Buffer.from(bytes.toString().replaceAll("\n\n", "\n: x\n\n"))])
    if (name !== "odd-line-ends") expect(parsed).toEqual(decode([bytes]))
  })

  test("encoded again and decoded, it says the same", () => {
    const encoder = client.makeEncoder(options({ includeUsage: true }))
    const decoder = upstream.makeDecoder(encoder)
    decoder.push(bytes)
    decoder.end()
    const again = Buffer.from(encoder.take())
    if (again.length > 0) expect(answerOf(again)).toEqual(answerOf(bytes))
  })

  test("ends in exactly one way wherever it fails", () => {
    for (let at = 0; at <= bytes.length; at += 7) {
      const tap = new TranslatingTap(upstream.makeDecoder, client.makeEncoder(options()), true)
      let text = (passBorrowed(tap, bytes.subarray(0, at)) ?? "").toString()
      text += Buffer.from(tap.fail(make("upstream_reset", "The connection broke."))).toString()
      text += (passBorrowed(tap, bytes.subarray(at)) ?? "").toString()
      const frames = framesOf(text)
      expect(frames.filter((frame) => frame === "[DONE]")).toHaveLength(1)
      expect(frames.at(-1)).toBe("[DONE]")
      const errors = frames.filter((frame) => typeof frame === "object" && frame !== null && "error" in frame)
      expect(errors).toHaveLength(tap.terminal ? 0 : 1)
    }
  })
})

/** The whole answer of a stream, without what the format cannot keep: whose head it was, which stop sequence, that a call had no
 * argument, that plain reasoning was a summary. */
const answerOf = (bytes: Buffer) => {
  const builder = new AnswerBuilder()
  const decoder = upstream.makeDecoder(builder)
  decoder.push(bytes)
  decoder.end()
  const { choices, usage } = builder.answer()
  return {
    usage,
    choices: choices.map((choice) => ({
      ...choice,
      finish: choice.finish === "stop-sequence" ? "stop" : choice.finish,
      stopSequence: null,
      parts: choice.parts.map((part) =>
        part.kind === "toolCall" && part.arguments === "" ? { ...part, arguments: "{}" } : part.kind === "reasoning" ? { ...part, summary: false } : part
      )
    }))
  }
}

describe("a chat stream", () => {
  test("plain text", () => {
    expect(eventsOf("plain")).toEqual([
      ["start", { id: "chatcmpl-S1", model: "gpt-4o-mini-2024-07-18", createdAt: 1741569952, serviceTier: "default", systemFingerprint: "fp_1" }],
      ["text", 0, "Hello world!\n\nBye \"now\" \\o/"],
      ["finish", 0, "stop", null],
      ["tokens", { input: 19, output: 10, cacheRead: 4, cacheCreation: 0, reasoning: 3 }],
      ["done"]
    ])
  })

  test("parallel calls with split arguments", () => {
    expect(eventsOf("tools-parallel").slice(1, 6)).toEqual([
      ["toolCall", 0, 0, "call_a", "get_weather", false, null],
      ["toolArguments", 0, 0, "{\"city\":\"Zürich\"}"],
      ["toolCall", 0, 1, "call_b", "now", false, null],
      ["toolArguments", 0, 1, "{\"zone\":\"UTC\"}"],
      ["finish", 0, "tool-calls", null]
    ])
  })

  test.each([
    ["tools-whole-without-index", ["call_a", "call_b"], ["{}", "{\"zone\":\"CET\"}"]],
    ["tools-repeated-ids", ["call_a"], ["{\"zone\":1}"]],
    ["tools-all-index-zero", ["function-call-1", "function-call-2"], ["{}", "{\"zone\":\"CET\"}"]],
    ["tools-empty-arguments", ["call_a"], []],
    ["custom-call", ["call_c"], ["SELECT 1; -- done"]],
    ["function-call-legacy", ["call_chatcmplS1_0_0"], ["{\"zone\":1}"]]
  ])("calls of %s", (name, ids, args) => {
    const events = eventsOf(name)
    expect(events.filter(([event]) => event === "toolCall").map((event) => event[3])).toEqual(ids)
    expect(events.filter(([event]) => event === "toolArguments").map((event) => event[3])).toEqual(args)
    expect(events.find(([event]) => event === "finish")).toEqual(["finish", 0, "tool-calls", null])
  })

  test("a thought signature of a call belongs to its vendor", () => {
    expect(eventsOf("tools-all-index-zero")[1]?.[6]).toEqual({ family: "generateContent", value: "dGhvdWdodA==" })
  })

  test("reasoning in a plain field", () => {
    expect(eventsOf("reasoning-content").slice(1)).toEqual([
      ["reasoning", 0, false, "Two and two"],
      ["text", 0, "4."],
      ["finish", 0, "stop", null],
      ["tokens", { input: 9, output: 7, cacheRead: 4, cacheCreation: 0, reasoning: 4 }],
      ["done"]
    ])
  })

  test("signed reasoning is said once, its signature behind it", () => {
    expect(eventsOf("reasoning-signed").slice(1, 4)).toEqual([
      ["reasoning", 0, false, "The user greets."],
      ["signature", 0, { family: "chat-completions", value: "c2lnbmF0dXJl" }],
      ["text", 0, "Hi!"]
    ])
  })

  test("an encrypted item signs its summary, another stands alone", () => {
    expect(eventsOf("reasoning-encrypted").slice(1, 5)).toEqual([
      ["reasoning", 0, true, "Summary."],
      ["signature", 0, { family: "chat-completions", value: "ZW5j" }],
      ["text", 0, "Hi"],
      ["hiddenReasoning", 0, { family: "chat-completions", value: "ZW5jMg==" }, "rs_2"]
    ])
  })

  test.each([
    ["think-tags", "Let's see: 1 < 2 <b>", "The answer is <think> 4."],
    ["think-tags-escaped", "Hmm, ok", "Yes."]
  ])("%s become reasoning", (name, thinking, text) => {
    expect(eventsOf(name).slice(1, 3)).toEqual([["reasoning", 0, false, thinking], ["text", 0, text]])
  })

  test("text that looks like the frame around it is text", () => {
    expect(eventsOf("unicode")[1]).toEqual(["text", 0, "naïve 👩‍🚀 世界😀 ok\"error\": \"usage\":{} \\\" }],\"finish_reason\":\"stop\""])
    expect(eventsOf("padded-frames")[1]).toEqual(["text", 0, "one two three \"four\""])
  })

  test("several choices, log probabilities, citations, refusals, reasons", () => {
    expect(eventsOf("several-choices").filter(([event]) => event === "finish")).toEqual([["finish", 0, "stop", null], ["finish", 1, "length", null]])
    expect(eventsOf("logprobs").filter(([event]) => event === "logprobs")).toHaveLength(2)
    expect(eventsOf("citations").filter(([event]) => event === "annotation")).toHaveLength(1)
    expect(eventsOf("refusal").slice(1, 3)).toEqual([["refusal", 0, "I cannot."], ["finish", 0, "refusal", null]])
    expect(eventsOf("stop-sequence-named").at(-2)).toEqual(["finish", 0, "stop-sequence", "END"])
    expect(eventsOf("content-filter").at(-2)).toEqual(["finish", 0, "content-filter", null])
  })

  test("an error object fails the stream and nothing follows", () => {
    expect(eventsOf("error-in-stream").at(-1)).toMatchObject(["failed", { message: "The server had an error.", type: "server_error", code: null, status: null }])
    expect(eventsOf("error-first")).toMatchObject([["failed", { message: "Rate limited.", type: "rate_limit_error", code: null, status: 429 }]])
  })

  test("a truncated stream has neither finish nor done; a missing terminator is not made up", () => {
    expect(eventsOf("truncated").map(([event]) => event)).toEqual(["start", "text"])
    expect(eventsOf("truncated-inside-a-tag").at(-1)).toEqual(["reasoning", 0, false, "a </thi"])
    expect(eventsOf("without-done").map(([event]) => event)).toEqual(["start", "text", "finish"])
    expect(tapped([named(streams, "without-done")])).toMatchObject({ terminal: true, finished: true, text: expect.stringMatching(/\n\ndata: \[DONE\]\n\n$/) as string })
    expect(tapped([named(streams, "truncated")])).toMatchObject({ terminal: false, finished: false, text: named(streams, "truncated").toString() })
    expect(decode([named(streams, "broken-json")]).ok).toBe(false)
    expect(eventsOf("no-finish-reason").slice(-2)).toEqual([["finish", 0, "stop", null], ["done"]])
  })

  test("what comes after the last word is not heard", () => {
    const bytes = Buffer.concat([named(streams, "plain"), named(streams, "error-first")])
    expect(decode([bytes])).toEqual(decode([named(streams, "plain")]))
  })
})

describe("a literal that is no JSON", () => {
  const frame = (literal: string) => `data: {"id":"c","choices":[{"index":0,"delta":{"content":"${literal}"},"finish_reason":null}]}\n\n`
  test.each([["\\x"], ["\\u12g4"], ["a\tb"], ["\u0001"], ["\\"]])("%j is found in a known frame as in a first one", (literal) => {
    for (const before of ["", frame("a") + frame("b")]) {
      const { ok } = decode([Buffer.from(before + frame(literal))])
      expect(ok).toBe(false)
    }
  })

  test("a frame that only begins like a known one is read", () => {
    const stream = `${frame("a")}${frame("b")}${frame('x"},"finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":2},"y":[{"w":{"z":"')}`
    const { events } = decode([Buffer.from(stream)])
    expect(events.slice(1)).toEqual([
      ["text", 0, "abx"],
      ["finish", 0, "length", null],
      ["tokens", { input: 1, output: 2, cacheRead: 0, cacheCreation: 0, reasoning: 0 }]
    ])
  })
})

test("padding is nothing but padding: what follows it is read", () => {
  const frame = (text: string, tail: string) =>
    `data: {"id":"c","choices":[{"index":0,"delta":{"content":"${text}"},"finish_reason":null}],"obfuscation":"${tail}}\n\n`
  const stream = frame("a", 'x"') + frame("b", 'yyy"') + frame("c", 'zz","usage":{"prompt_tokens":1,"completion_tokens":2}')
  expect(decode([Buffer.from(stream)]).events.slice(1)).toEqual([
    ["text", 0, "abc"], ["tokens", { input: 1, output: 2, cacheRead: 0, cacheCreation: 0, reasoning: 0 }]
  ])
})

describe("the encoder", () => {
  const head = { id: "msg_1", model: "claude", createdAt: null, serviceTier: "standard", systemFingerprint: null }
  const write = (say: (sink: StreamSink) => void, includeUsage = false): ReadonlyArray<unknown> => {
    const encoder = client.makeEncoder(options({ includeUsage }))
    say(encoder)
    return framesOf(encoder.take())
  }
  const deltas = (frames: ReadonlyArray<unknown>) =>
    frames.map((frame) => typeof frame === "string" ? frame : (frame as { choices: Array<{ delta: unknown }> }).choices[0]?.delta)

  test("another signature of a thought does not say its text again: details of one index are joined", () => {
    const frames = write((sink) => {
      sink.start(head)
      sink.reasoning(0, "think", false)
      sink.signature(0, { family: "messages", value: "one" })
      sink.signature(0, { family: "messages", value: "two" })
    })
    expect(deltas(frames).slice(2)).toMatchObject([{ reasoning_details: [{ text: "think", index: 0 }] }, { reasoning_details: [{ text: "", index: 0 }] }])
  })

  test("role, thoughts, signature, text, calls, finish, usage, end", () => {
    const frames = write((sink) => {
      sink.start(head)
      sink.reasoning(0, "Let me ", false)
      sink.reasoning(0, "think\\n", false)
      sink.signature(0, { family: "messages", value: "sig" })
      sink.partEnd(0)
      sink.hiddenReasoning(0, { family: "messages", value: "secret" }, null)
      sink.text(0, "Hi \\\"you\\\"")
      sink.partEnd(0)
      sink.toolCall(0, 0, "toolu_1", "now", false, null)
      sink.partEnd(0)
      sink.toolCall(0, 1, "toolu_2", "look", false, { family: "generateContent", value: "dGg=" })
      sink.toolArguments(0, 1, "{\\\"a\\\":")
      sink.toolArguments(0, 1, "1}")
      sink.finish(0, "tool-calls", null)
      sink.tokens({ input: 10, output: 5, cacheRead: 2, cacheCreation: 1, reasoning: 3 })
      sink.done()
      sink.text(0, "late")
    }, true)
    expect(deltas(frames)).toEqual([
      { role: "assistant", content: "", refusal: null },
      { reasoning_content: "Let me " },
      { reasoning_content: "think\n" },
      { reasoning_details: [{ type: "reasoning.text", text: "Let me think\n", signature: Buffer.from("gateway-signature:messages:sig").toString("base64"), format: "anthropic-claude-v1", index: 0 }] },
      { reasoning_details: [{ type: "reasoning.encrypted", data: Buffer.from("gateway-signature:messages:secret").toString("base64"), format: "anthropic-claude-v1", index: 1 }] },
      { content: "Hi \"you\"" },
      { tool_calls: [{ index: 0, id: "toolu_1", type: "function", function: { name: "now", arguments: "" } }] },
      { tool_calls: [{ index: 0, function: { arguments: "{}" } }] },
      {
        tool_calls: [{
          index: 1, id: "toolu_2", type: "function", function: { name: "look", arguments: "" }, extra_content: { google: { thought_signature: "dGg=" } }
        }],
        reasoning_details: [{
          type: "reasoning.encrypted", data: Buffer.from("gateway-signature:generateContent:dGg=").toString("base64"), id: "toolu_2", format: "google-gemini-v1", index: 2
        }]
      },
      { tool_calls: [{ index: 1, function: { arguments: "{\"a\":" } }] },
      { tool_calls: [{ index: 1, function: { arguments: "1}" } }] },
      {},
      undefined,
      "[DONE]"
    ])
    const chunks = frames.slice(0, -1) as ReadonlyArray<Record<string, unknown>>
    for (const chunk of chunks) {
      expect(chunk).toMatchObject({
        id: "chatcmpl-0123456789abcdefghijABCD", object: "chat.completion.chunk", created: 1_700_000_000, model: "claude", service_tier: "default"
      })
    }
    expect(chunks.slice(0, -1).every((chunk) => chunk["usage"] === null)).toBe(true)
    expect(chunks.at(-2)).toMatchObject({ choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] })
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: {
        prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, prompt_tokens_details: { cached_tokens: 2, cache_creation_tokens: 1 },
        completion_tokens_details: { reasoning_tokens: 3 }
      }
    })
  })

  test("usage only when asked", () => {
    const frames = write((sink) => {
      sink.start(head)
      sink.text(0, "a")
      sink.finish(0, "stop", null)
      sink.tokens({ input: 1, output: 1, cacheRead: 0, cacheCreation: 0, reasoning: 0 })
      sink.done()
    })
    expect(JSON.stringify(frames)).not.toContain("usage")
    expect(frames).toHaveLength(4)
  })

  test("a call that begins the answer has null content; a second finish and a second end are not written", () => {
    const frames = write((sink) => {
      sink.start(head)
      sink.toolCall(0, 0, "c", "sql", true, null)
      sink.toolArguments(0, 0, "SELECT 1")
      sink.finish(0, "tool-calls", null)
      sink.finish(0, "stop", null)
      sink.done()
      sink.done()
    })
    expect(deltas(frames)).toEqual([
      { role: "assistant", content: null, refusal: null },
      { tool_calls: [{ index: 0, id: "c", type: "custom", custom: { name: "sql", input: "" } }] },
      { tool_calls: [{ index: 0, custom: { input: "SELECT 1" } }] },
      {},
      "[DONE]"
    ])
  })

  test("sections of one summary are one part, with their encrypted item", () => {
    const frames = write((sink) => {
      sink.start(head)
      sink.reasoning(0, "One", true)
      sink.partEnd(0)
      sink.reasoning(0, "Two", true)
      sink.signature(0, { family: "responses", value: "enc" })
      sink.text(0, "x")
    })
    expect(deltas(frames).slice(1, 5)).toEqual([
      { reasoning_content: "One" }, { reasoning_content: "\n\n" }, { reasoning_content: "Two" },
      {
        reasoning_details: [
          { type: "reasoning.summary", summary: "One\n\nTwo", format: "openai-responses-v1", index: 0 },
          { type: "reasoning.encrypted", data: Buffer.from("gateway-signature:responses:enc").toString("base64"), format: "openai-responses-v1", index: 0 }
        ]
      }
    ])
  })

  test("each choice has its own role chunk", () => {
    const frames = write((sink) => {
      sink.start(head)
      sink.text(1, "b")
      sink.text(0, "a")
    })
    expect(frames.map((frame) => (frame as { choices: Array<{ index: number; delta: { role?: string } }> }).choices[0])).toMatchObject([
      { index: 1, delta: { role: "assistant" } }, { index: 1 }, { index: 0, delta: { role: "assistant" } }, { index: 0 }
    ])
  })

  test("heartbeats are a comment, or a chunk that says nothing", () => {
    const now = new Date(0)
    expect(client.heartbeat(true, now, null)).toBe(": keepalive 1970-01-01T00:00:00.000Z\n\n")
    expect(framesOf(client.heartbeat(false, now, { id: "chatcmpl-1", object: "chat.completion.chunk" }))).toMatchObject([{ id: "chatcmpl-1", object: "chat.completion.chunk", choices: [{ delta: {}, finish_reason: null }] }])
  })
})
