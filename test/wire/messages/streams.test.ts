import { describe, expect, it } from "@effect/vitest"
import { make as publicError } from "#schemas/errors.ts"
import type { FinishReason, TokenUsage } from "#schemas/wire/conversation.ts"
import { client, upstream } from "#src/wire/messages/index.ts"
import * as Signatures from "#src/wire/signatures.ts"
import { escape } from "#src/wire/stream/literal.ts"
import type { StreamSink } from "#src/wire/stream/StreamSink.ts"
import * as Borrowed from "#test/support/wire/borrowed.ts"
import { byBytes, everyCut, randomCut } from "#test/support/wire/splits.ts"
import { events, fixtures, json, options, streamOf } from "#test/wire/messages/support.ts"

const cuts = (bytes: Buffer) => [...everyCut(bytes), byBytes(bytes), ...Array.from({ length: 50 }, (_, seed) => randomCut(bytes, seed + 1))]
const names = (bytes: Buffer) => events([bytes]).events.map(([name]) => name)

const tapped = (pieces: ReadonlyArray<Buffer>) => Borrowed.tapped(upstream.makePassThroughTap({ forwardUsage: false }, null), pieces)

interface Frame {
  readonly event: string
  readonly data: Record<string, unknown>
}

const framesOf = (text: string): ReadonlyArray<Frame> =>
  text.split("\n\n").filter((one) => one !== "").map((one) => {
    const parts = /^event: (.+)\ndata: (.+)$/s.exec(one)
    if (parts === null) throw new Error(`no frame: ${one}`)
    return { event: parts[1]!, data: json(Buffer.from(parts[2]!)) }
  })

const wrote = (play: (sink: StreamSink) => void) => {
  const encoder = client.makeEncoder(options)
  play(encoder)
  return framesOf(encoder.take())
}

const head = { id: "chatcmpl-1", model: "gpt-x", createdAt: null, serviceTier: null, systemFingerprint: null }
const used: TokenUsage = { input: 100, output: 9, cacheRead: 30, cacheCreation: 20, reasoning: 2 }

/** Every block starts, goes on and stops before the next one starts; the message ends once. */
const expectOrder = (frames: ReadonlyArray<Frame>): void => {
  let open: unknown = null
  let next = 0
  frames.forEach(({ data, event }, i) => {
    expect(data["type"]).toBe(event)
    if (event === "message_start") expect(i).toBe(0)
    else if (event === "content_block_start") {
      expect([open, data["index"]]).toEqual([null, next++])
      open = data["index"]
    } else if (event === "content_block_delta") expect(data["index"]).toBe(open)
    else if (event === "content_block_stop") {
      expect(data["index"]).toBe(open)
      open = null
    } else if (event === "message_delta") expect([open, i]).toEqual([null, frames.length - 2])
    else expect([open, ["message_stop", "error"].includes(event)]).toEqual([null, true])
  })
}

describe("messages streams, read", () => {
  for (const [name, bytes] of fixtures("streams")) {
    it(`${name}: the same events and the same tap, however it is cut`, () => {
      const whole = events([bytes])
      const tap = tapped([bytes])
      for (const pieces of cuts(bytes)) {
        expect(events(pieces)).toEqual(whole)
        expect(tapped(pieces)).toEqual(tap)
      }
    })
  }

  const start = ["start", { id: "msg_014p7gG3wDgGV9EUtLvnow3U", model: "claude-sonnet-4-5-20250929", createdAt: null, serviceTier: null, systemFingerprint: null }]
  const tokens = (output: number, over: object = {}) => ["tokens", { input: 25, output, cacheRead: 0, cacheCreation: 0, reasoning: 0, ...over }]

  it("says what the model said", () => {
    expect(events([streamOf("plain")])).toEqual({
      isSound: true,
      events: [start, tokens(1), ["text", 0, "Hello! How are you?"], ["partEnd", 0], ["finish", 0, "stop", null], tokens(15), ["done"]]
    })
    expect(events([streamOf("unicode-escapes")]).events[2]).toEqual(["text", 0, 'Grüße 世界 👩‍🚀🌍 naïve ✓ é\n\t"q" \\ /🌍'])
    expect(events([streamOf("text-that-looks-like-frames")]).events[2]).toEqual([
      "text", 0,
      'data: {"type":"error","error":{"message":"no"}}"usage":{"output_tokens":999}"}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n}}\\"text":"x"'
    ])
    expect(events([streamOf("crlf")]).events[2]).toEqual(["text", 0, "Hello CRLF"])
    expect(events([streamOf("without-event-lines")]).events[2]).toEqual(["text", 0, "No event lines!"])
    expect(events([streamOf("unknown-events")]).events[2]).toEqual(["text", 0, "Hi there"])
  })

  it("calls, whole or in pieces, with arguments or without", () => {
    expect(events([streamOf("tools-parallel")]).events.slice(2)).toEqual([
      ["text", 0, "I check."], ["partEnd", 0],
      ["toolCall", 0, 0, "toolu_01A", "get_weather", false, null], ["toolArguments", 0, 0, '{"city": "Zürich", "note": "a\\"b"}'], ["partEnd", 0],
      ["toolCall", 0, 1, "toolu_01B", "get_weather", false, null], ["toolArguments", 0, 1, '{"city": "Paris 🗼"}'], ["partEnd", 0],
      ["finish", 0, "tool-calls", null], tokens(89), ["done"]
    ])
    const given = (name: string) => events([streamOf(name)]).events.filter(([event]) => event === "toolArguments").map((event) => event[3])
    expect(given("tool-empty-arguments")).toEqual(["{}", "{}"])
    expect(given("tool-whole-input")).toEqual(['{"city":"Oslo"}'])
  })

  it("thoughts: signed, omitted, redacted", () => {
    expect(events([streamOf("thinking-signature")]).events.slice(2, 6)).toEqual([
      ["reasoning", 0, false, "Let me solve this step by step:\n\n1. 27 = 3 * 9"],
      ["signature", 0, { family: "messages", value: "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk=" }], ["partEnd", 0], ["text", 0, "27 * 453 = 12,231"]
    ])
    expect(events([streamOf("thinking-signature")]).events.at(-2)).toEqual(tokens(60, { reasoning: 40 }))
    expect(events([streamOf("thinking-omitted")]).events[2]).toEqual(["hiddenReasoning", 0, { family: "messages", value: "omitted-thinking:EosnCkYICxIMMb3LzNrMu" }, null])
    expect(events([streamOf("thinking-redacted")]).events[2]).toEqual(["hiddenReasoning", 0, { family: "messages", value: "EmwKAhgBEgy3va3pzix/LafPsn4a" }, null])
  })

  it("citations come after the text they belong to", () => {
    expect(names(streamOf("citations"))).toEqual(["start", "tokens", "text", "partEnd", "text", "annotation", "partEnd", "text", "annotation", "partEnd", "finish", "tokens", "done"])
    const annotations = events([streamOf("citations")]).events.filter(([name]) => name === "annotation").map((event) => event[2])
    expect(annotations).toMatchObject([{ kind: "document", document: "0", title: "Facts", citedText: "The grass is green." }, { kind: "url", url: "https://example.com/grass" }])
  })

  it("ends: every stop reason, errors, truncation", () => {
    const finish = (name: string) => events([streamOf(name)]).events.find(([event]) => event === "finish")
    expect(finish("length")).toEqual(["finish", 0, "length", null])
    expect(finish("stop-sequence")).toEqual(["finish", 0, "stop-sequence", "END"])
    expect(finish("refusal")).toEqual(["finish", 0, "refusal", null])
    expect(finish("pause-turn")).toEqual(["finish", 0, "pause", null])
    const overloaded = { message: "Overloaded", type: "overloaded_error", code: null, status: 529 }
    expect(events([streamOf("error-in-stream")]).events.slice(2)).toMatchObject([["text", 0, "Hel"], ["failed", overloaded]])
    expect(events([streamOf("error-first")]).events).toMatchObject([["failed", overloaded]])
    expect(events([streamOf("truncated-in-block")])).toMatchObject({ isSound: true, events: [start, tokens(1), ["text", 0, "Hello"]] })
    expect(events([streamOf("truncated-in-frame")])).toMatchObject({ isSound: true, events: [start, tokens(1), ["text", 0, "Hel"]] })
    expect(names(streamOf("truncated-after-finish")).slice(-2)).toEqual(["finish", "tokens"])
  })

  it("usage from the head, the end or both", () => {
    const usage = (name: string) => tapped([streamOf(name)]).usage
    expect(usage("usage-cached")).toEqual({ input: 3124, output: 7, cacheRead: 3000, cacheCreation: 120, reasoning: 0 })
    expect(usage("usage-only-at-the-end")).toEqual({ input: 33, output: 7, cacheRead: 0, cacheCreation: 0, reasoning: 0 })
    expect(usage("usage-none")).toBe(null)
    expect(usage("server-tools")).toMatchObject({ input: 2679, output: 510 })
    for (const [name, bytes] of fixtures("streams")) {
      const last = events([bytes]).events.findLast(([event]) => event === "tokens")
      expect(usage(name), name).toEqual(last === undefined ? null : last[1])
    }
  })

  it("broken frames are malformed, once the fast path is warm as well", () => {
    const before = streamOf("truncated-in-block").toString()
    const delta = (literal: string, tail = '"}}\n\n') => `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${literal}${tail}`
    for (const broken of [delta("a\\x"), delta("a\\"), delta("a", '"}\n\n'), delta("a", '"}}}\n\n'), delta("a\tb"), delta("a\ndata: b"), "data: {oops\n\n"]) {
      const bytes = Buffer.from(before + broken + delta("after"))
      expect(events([bytes]).isSound, broken).toBe(false)
      expect(events([bytes]).events.at(-1)).toEqual(["text", 0, "Hello"])
      expect(tapped([bytes])).toMatchObject({ malformed: true, out: before })
    }
    // The same text in another place is no content.
    const odd = `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"},"x":{"text":"b"}}\n\n`
    expect(events([Buffer.from(before + odd + odd + delta("!"))]).events.at(-1)).toEqual(["text", 0, "Helloaa!"])
  })
})

describe("messages streams, passed through", () => {
  it("every byte but errors and what follows them", () => {
    for (const [name, bytes] of fixtures("streams")) {
      if (name.startsWith("error") || name.startsWith("truncated-in-frame") || name === "truncated-after-finish") continue
      expect(tapped([bytes]).out, name).toBe(bytes.toString())
    }
    expect(tapped([streamOf("error-in-stream")]).out).toBe(streamOf("error-in-stream").toString().split("event: error")[0])
  })

  it("a whole answer without its last frame gets one", () => {
    const last = 'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    const bytes = streamOf("truncated-after-finish")
    expect(tapped([bytes])).toMatchObject({ out: bytes.toString() + last, terminal: true })
    expect(tapped([bytes.subarray(0, -2)]).out).toBe(bytes.toString() + last)
    expect(tapped([bytes.subarray(0, -1)]).out).toBe(bytes.toString() + last)
  })

  it("a whole chunk is answered as the same bytes", () => {
    const bytes = streamOf("plain")
    expect(upstream.makePassThroughTap({ forwardUsage: true }, null).push(bytes)).toBe(bytes)
  })

  it("facts of the stream", () => {
    expect(tapped([streamOf("plain")])).toMatchObject({ alive: true, useful: true, finished: true, terminal: true, malformed: false, text: "Hello! How are you?" })
    expect(tapped([streamOf("no-content")])).toMatchObject({ alive: true, useful: false, finished: true, terminal: true })
    expect(tapped([streamOf("refusal-without-text")])).toMatchObject({ useful: true, finished: true })
    expect(tapped([streamOf("truncated-in-block")])).toMatchObject({ useful: true, finished: false, terminal: false })
    expect(tapped([streamOf("tools-parallel")]).text).toContain('get_weather{"city": "Zürich"')
    expect(tapped([streamOf("error-first")])).toMatchObject({ useful: false, out: "", error: { type: "overloaded_error", status: 529 } })
  })
})

describe("messages streams, written", () => {
  it("blocks, signatures, usage and the end in the vendor's order", () => {
    const frames = wrote((sink) => {
      sink.start(head)
      sink.tokens({ ...used, output: 1 })
      sink.reasoning(0, "hm\\n", false)
      sink.signature(0, { family: "messages", value: "sig" })
      sink.text(0, "Gr\\u00fc\\u00dfe")
      sink.toolCall(0, 0, "call_1", "f", false, null)
      sink.toolArguments(0, 0, '{\\"a\\"')
      sink.toolArguments(0, 0, ":1}")
      sink.toolCall(0, 1, "call_2", "g", false, null)
      sink.finish(0, "tool-calls", null)
      sink.tokens(used)
      sink.done()
    })
    expectOrder(frames)
    expect(frames.map(({ data, event }) => [event, data["content_block"] ?? data["delta"] ?? (event === "message_start" ? null : data["usage"])])).toEqual([
      ["message_start", null],
      ["content_block_start", { type: "thinking", thinking: "", signature: "" }],
      ["content_block_delta", { type: "thinking_delta", thinking: "hm\n" }],
      ["content_block_delta", { type: "signature_delta", signature: "sig" }],
      ["content_block_stop", undefined],
      ["content_block_start", { type: "text", text: "" }],
      ["content_block_delta", { type: "text_delta", text: "Grüße" }],
      ["content_block_stop", undefined],
      ["content_block_start", { type: "tool_use", id: "call_1", name: "f", input: {} }],
      ["content_block_delta", { type: "input_json_delta", partial_json: '{"a"' }],
      ["content_block_delta", { type: "input_json_delta", partial_json: ":1}" }],
      ["content_block_stop", undefined],
      ["content_block_start", { type: "tool_use", id: "call_2", name: "g", input: {} }],
      ["content_block_stop", undefined],
      ["message_delta", { stop_reason: "tool_use", stop_sequence: null }],
      ["message_stop", undefined]
    ])
    expect(frames[0]!.data["message"]).toMatchObject({ id: `msg_${"a".repeat(24)}`, type: "message", role: "assistant", model: "gpt-x", content: [], stop_reason: null, usage: { input_tokens: 50, output_tokens: 1 } })
    expect(frames.at(-2)!.data["usage"]).toEqual({ input_tokens: 50, cache_creation_input_tokens: 20, cache_read_input_tokens: 30, output_tokens: 9 })
  })

  it("the head goes out at once, without usage when there is none yet", () => {
    const encoder = client.makeEncoder(options)
    encoder.start({ ...head, model: null })
    expect(framesOf(encoder.take())[0]!.data["message"]).toMatchObject({ model: "asked/model", usage: { input_tokens: 0, output_tokens: 0 } })
    encoder.toolCall(0, 0, "a", "f", false, null)
    encoder.toolArguments(0, 0, "{")
    expect(framesOf(encoder.take()).map(({ event }) => event)).toEqual(["content_block_start", "content_block_delta"])
  })

  it("calls whose pieces are interleaved do not overlap", () => {
    const frames = wrote((sink) => {
      sink.start(head)
      sink.toolCall(0, 0, "a", "f", false, null)
      sink.toolCall(0, 1, "b", "g", false, null)
      sink.toolCall(0, 2, "c", "h", false, null)
      sink.toolArguments(0, 0, "{}")
      sink.toolArguments(0, 1, '{\\"x\\":')
      sink.toolArguments(0, 2, "{}")
      sink.toolArguments(0, 1, "1}")
      sink.finish(0, "tool-calls", null)
      sink.done()
    })
    expectOrder(frames)
    const calls: Array<string> = []
    for (const { data } of frames) {
      const block = data["content_block"] as { readonly name: string } | undefined
      const delta = data["delta"] as { readonly partial_json?: string } | undefined
      if (block !== undefined) calls.push(block.name)
      else if (delta?.partial_json !== undefined) calls[calls.length - 1] += delta.partial_json
    }
    expect(calls).toEqual(["f{}", 'g{"x":1}', "h{}"])
  })

  it("hidden reasoning, foreign signatures, free text arguments, media, refusals, citations", () => {
    const frames = wrote((sink) => {
      sink.start(head)
      sink.hiddenReasoning(0, { family: "messages", value: "data" }, null)
      sink.hiddenReasoning(0, { family: "responses", value: "enc" }, "rs_1")
      sink.text(0, "a")
      sink.partEnd(0)
      sink.annotation(0, { kind: "url", url: "https://e.com", title: "T", citedText: null, start: 0, end: 1, document: null, native: null })
      sink.signature(0, { family: "generateContent", value: "t" })
      sink.text(0, "b")
      sink.toolCall(0, 0, "x", "f", true, { family: "generateContent", value: "c" })
      sink.toolArguments(0, 0, 'say \\"hi\\"\\n')
      sink.media(0, { kind: "image", source: { kind: "base64", mediaType: "image/png", data: "AAAA" }, detail: null, name: null, context: null, citations: null, cache: null, signature: null })
      sink.refusal(0, "No")
      sink.text(1, "another choice")
      sink.finish(0, "stop", null)
      sink.done()
    })
    expectOrder(frames)
    const seal = (family: "responses" | "generateContent", value: string) => Signatures.seal({ family, value }, "messages")
    expect(frames.flatMap(({ data }) => data["content_block"] ?? [])).toMatchObject([
      { type: "redacted_thinking", data: "data" }, { type: "thinking", thinking: "" }, { type: "text" }, { type: "thinking" }, { type: "text" },
      { type: "thinking" }, { type: "tool_use" }, { type: "image" }, { type: "text" }
    ])
    expect(frames.flatMap(({ data }) => data["delta"] ?? [])).toEqual([
      { type: "signature_delta", signature: seal("responses", "enc") },
      { type: "text_delta", text: "a" },
      { type: "citations_delta", citation: { type: "web_search_result_location", cited_text: "", encrypted_index: "", title: "T", url: "https://e.com" } },
      { type: "signature_delta", signature: seal("generateContent", "of-text:t") },
      { type: "text_delta", text: "b" },
      { type: "signature_delta", signature: seal("generateContent", "of-call:c") },
      { type: "input_json_delta", partial_json: '{"input":"' }, { type: "input_json_delta", partial_json: 'say \\"hi\\"\\n' }, { type: "input_json_delta", partial_json: '"}' },
      { type: "text_delta", text: "No" },
      { stop_reason: "refusal", stop_sequence: null }
    ])
  })

  it("stop reasons", () => {
    const reason = (finish: FinishReason, stop: string | null = null) =>
      wrote((sink) => {
        sink.start(head)
        sink.finish(0, finish, stop)
        sink.done()
      }).find(({ event }) => event === "message_delta")!.data["delta"]
    expect(reason("stop")).toEqual({ stop_reason: "end_turn", stop_sequence: null })
    expect(reason("stop-sequence", "END")).toEqual({ stop_reason: "stop_sequence", stop_sequence: "END" })
    expect(reason("length")).toMatchObject({ stop_reason: "max_tokens" })
    expect(reason("content-filter")).toMatchObject({ stop_reason: "refusal" })
    expect(reason("pause")).toMatchObject({ stop_reason: "pause_turn" })
    expect(reason("context")).toMatchObject({ stop_reason: "model_context_window_exceeded" })
  })

  for (const [name, bytes] of fixtures("streams")) {
    it(`${name}: decoded, encoded and decoded again it is the same stream`, () => {
      const encoder = client.makeEncoder(options)
      const decoder = upstream.makeDecoder(encoder)
      decoder.push(bytes)
      decoder.end()
      // The finish is held until the last word; a tap says that word for an upstream that leaves it out.
      if (name === "truncated-after-finish") encoder.done()
      const text = encoder.take()
      if (!name.startsWith("truncated-in") && name !== "error-in-stream") expectOrder(framesOf(text))
      const told = (pieces: Buffer) => events([pieces]).events.filter(([event]) => event !== "tokens" && event !== "failed" && event !== "start" && event !== "done")
      // An open block of a truncated stream has not ended, in either direction.
      expect(told(Buffer.from(text))).toEqual(told(bytes))
    })

    it(`${name}: broken anywhere, it ends with one error and nothing after it`, () => {
      const error = publicError("upstream_reset", "The upstream connection broke.")
      for (let cut = 0; cut <= bytes.length; cut += 7) {
        const encoder = client.makeEncoder(options)
        const decoder = upstream.makeDecoder(encoder)
        decoder.push(bytes.subarray(0, cut))
        const before = encoder.take()
        const frames = framesOf(before + encoder.fail(error))
        expectOrder(frames)
        expect(frames.filter(({ event }) => event === "error" || event === "message_stop")).toHaveLength(1)
        expect(["error", "message_stop"]).toContain(frames.at(-1)!.event)
        decoder.push(bytes.subarray(cut))
        encoder.text(0, "late")
        encoder.done()
        expect(encoder.take() + encoder.fail(error)).toBe("")
        const tap = upstream.makePassThroughTap({ forwardUsage: true }, null)
        const passed = Buffer.from(tap.push(bytes.subarray(0, cut)) ?? []).toString() + Buffer.from(tap.fail(error)).toString()
        if (!passed.includes("message_stop")) expect(passed.match(/event: error/g)).toHaveLength(1)
        expect(Buffer.from(tap.fail(error)).toString()).toBe("")
      }
    })
  }

  it("errors and heartbeats in the vendor's words", () => {
    const error = publicError("rate_limit_exceeded", "Slow down.", { extra: { field: "x" } })
    expect(client.errorFrames(error)).toBe('event: error\ndata: {"type":"error","error":{"type":"rate_limit_error","message":"Slow down.","code":"rate_limit_exceeded","field":"x"}}\n\n')
    expect(client.errorBody(publicError("model_not_found", "No."))).toContain('"type":"not_found_error"')
    expect(client.errorBody(publicError("bad_gateway", "No."))).toContain('"type":"api_error"')
    expect(client.heartbeat(false, new Date(0), null)).toBe('event: ping\ndata: {"type": "ping"}\n\n')
    expect(events([Buffer.from(client.heartbeat(true, new Date(0), null))]).events).toEqual([])
  })

  it("is fast enough: a content event costs little", () => {
    const many = 20_000
    const start = streamOf("truncated-in-block").toString()
    const frame = `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":${JSON.stringify(" token")}}}\n\n`
    const chunk = Buffer.from(frame.repeat(10))
    const run = (): number => {
      const encoder = client.makeEncoder(options)
      const decoder = upstream.makeDecoder(encoder)
      decoder.push(Buffer.from(start))
      const from = process.hrtime.bigint()
      for (let i = 0; i < many / 10; i++) {
        decoder.push(chunk)
        encoder.take()
      }
      return Number(process.hrtime.bigint() - from) / many
    }
    const best = Math.min(...Array.from({ length: 8 }, run))
    if (process.env["WIRE_TIMES"] === "1") console.log(`${best.toFixed(0)} ns per content event`)
    // The machine may be busy: this guards against a parse per event, the bench measures.
    expect(best).toBeLessThan(10_000)
  })

  it("escapes are the only thing that literals need", () => {
    expect(escape('"\n')).toBe('\\"\\n')
  })
})
