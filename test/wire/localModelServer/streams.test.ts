import { describe, expect, it } from "@effect/vitest"
import { make as publicError } from "#schemas/errors.ts"
import type { FinishReason, MediaPart } from "#schemas/wire/conversation.ts"
import { client, upstream } from "#src/wire/localModelServer/index.ts"
import { maxEventBytes } from "#src/wire/stream/EventMemory.ts"
import * as Borrowed from "#test/support/wire/borrowed.ts"
import { byBytes, everyCut, randomCut } from "#test/support/wire/splits.ts"
import { RecordingSink } from "#test/support/wire/RecordingSink.ts"
import { events, fixtures, options } from "#test/wire/localModelServer/support.ts"

const streams = fixtures("streams")
const of = (name: string): Buffer => (streams.find(([file]) => file === `${name}.ndjson`) as readonly [string, Buffer])[1]
const names = (pieces: ReadonlyArray<Buffer>) => events(pieces).events.map(([name]) => name)
const cuts = (bytes: Buffer) => [...everyCut(bytes), byBytes(bytes), ...Array.from({ length: 50 }, (_, seed) => randomCut(bytes, seed + 1))]

const tapped = (pieces: ReadonlyArray<Buffer>) => Borrowed.tapped(upstream.makePassThroughTap({ forwardUsage: true }, null), pieces)

describe("streams of a local model server", () => {
  for (const [name, bytes] of streams) {
    it(`${name}: the same events and the same tap, however it is cut`, () => {
      const whole = events([bytes])
      const tap = tapped([bytes])
      for (const pieces of cuts(bytes)) {
        expect(events(pieces)).toEqual(whole)
        expect(tapped(pieces)).toEqual(tap)
      }
    })
  }

  const usage = { input: 26, output: 282, cacheRead: 0, cacheCreation: 0, reasoning: 0 }
  const start = ["start", { id: null, model: "llama3.2", createdAt: 1_760_742_847, serviceTier: null, systemFingerprint: null }]

  it("says what the model said", () => {
    expect(events([of("plain")])).toEqual({ isSound: true, events: [start, ["text", 0, "The sky is blue."], ["finish", 0, "stop", null], ["tokens", usage], ["done"]] })
    expect(events([of("thinking")]).events.slice(1, 3)).toEqual([["reasoning", 0, false, "Two and two"], ["text", 0, "It is 4"]])
    expect(events([of("unicode")]).events[1]).toEqual(["text", 0, 'Grüße, 世界! 👩‍🚀 PLAINa "quoted" \\ back\nslash\ttab{"error":"no","usage":1}"},"done":true}'])
    expect(events([of("escapes-and-split-surrogates")]).events[1]).toEqual(["text", 0, '😀<b> &\\"'])
    expect(events([of("crlf-spaces-and-no-last-newline")]).events.slice(1)).toEqual([["text", 0, "ab"], ["finish", 0, "stop", null], ["tokens", usage], ["done"]])
    expect(events([of("cloud-fields")]).events[1]).toEqual(["text", 0, "Hello there"])
    expect(events([of("empty-first-line-and-key-order")]).events[1]).toEqual(["text", 0, "one two"])
  })

  it("tells thoughts in tags at the beginning from what is said", () => {
    expect(events([of("think-tags")]).events.slice(1, 3)).toEqual([["reasoning", 0, false, "Two < three"], ["text", 0, "It is 4 <think>"]])
    expect(events([of("think-tags-never-closed")]).events.slice(1, 3)).toEqual([["reasoning", 0, false, "Two and <"], ["finish", 0, "length", null]])
  })

  it("gives calls whole, with ids of its own where the server has none", () => {
    expect(events([of("tools-parallel")]).events.slice(1, 9)).toEqual([
      ["text", 0, "Let me see."], ["toolCall", 0, 0, "call_a1", "get_weather", false, null], ["toolArguments", 0, 0, '{"city":"Malmö"}'], ["partEnd", 0],
      ["toolCall", 0, 1, "call_a2", "get_weather", false, null], ["toolArguments", 0, 1, '{"city":"Lund"}'], ["partEnd", 0], ["finish", 0, "tool-calls", null]
    ])
    const calls = events([of("tools-in-two-lines-without-ids")]).events.filter(([name]) => name === "toolCall")
    expect(calls.map((call) => call.slice(1, 3))).toEqual([[0, 0], [0, 1]])
    for (const call of calls) expect(call[3]).toMatch(/^call_[a-z0-9]{14}$/)
    expect(new Set(calls.map((call) => call[3])).size).toBe(2)
    expect(names([of("tool-with-empty-arguments-on-last-line")])).toEqual(["start", "toolCall", "toolArguments", "partEnd", "finish", "tokens", "done"])
  })

  it("ends as the upstream ended", () => {
    expect(events([of("length")]).events).toContainEqual(["finish", 0, "length", null])
    expect(names([of("no-counts")])).toEqual(["start", "text", "finish", "done"])
    expect(names([of("done-twice")])).toEqual(["start", "text", "finish", "tokens", "done"])
    expect(events([of("logprobs")]).events.filter(([name]) => name === "logprobs")).toEqual([
      ["logprobs", 0, [{ token: "Hi", logprob: -0.25, bytes: null, top: [{ token: "Hi", logprob: -0.25, bytes: null }] }]],
      ["logprobs", 0, [{ token: " you", logprob: -0.5, bytes: null, top: [] }]]
    ])
    expect(events([of("error-first")]).events).toEqual([["failed", { message: "model runner has unexpectedly stopped", type: null, code: null, status: null }]])
    expect(names([of("error-in-the-middle")])).toEqual(["start", "text", "failed"])
    expect(names([of("truncated")])).toEqual(["start", "text"])
    expect(names([of("truncated-in-a-line")])).toEqual(["start", "text"])
    expect(events([of("broken-json")])).toMatchObject({ isSound: false, events: [["start", {}], ["text", 0, "The"]] })
  })

  it("parses a line that only looks plain", () => {
    const lines = (...contents: ReadonlyArray<string>) => Buffer.from(contents.map((one) => `{"model":"m","created_at":"t","message":{"role":"assistant","content":"${one}"},"done":false}\n`).join(""))
    expect(events([lines("a", "b")]).events[1]).toEqual(["text", 0, "ab"])
    // A broken escape and a raw control character are no JSON: found on the fast path too.
    expect(events([lines("a", "\\x41")])).toMatchObject({ isSound: false })
    expect(events([lines("a", "b\tc")])).toMatchObject({ isSound: false })
    expect(events([lines("a", "\\\\x", "\\u00e9")]).events[1]).toEqual(["text", 0, "a\\xé"])
    // The text ends early and the rest imitates another member.
    expect(events([lines("a", 'b","tool_calls":[{"function":{"name":"f","arguments":{}}}],"x":"')]).events.map(([name]) => name)).toEqual(["start", "text", "toolCall", "toolArguments", "partEnd"])
    // A repeated key: the last one counts, so no template may be made of it.
    const twice = (first: string, last: string) => `{"model":"m","message":{"content":"${first}","content":"${last}"},"done":false}\n`
    expect(events([Buffer.from(twice("no", "a") + twice("neither", "a") + twice("neither", "b"))]).events[1]).toEqual(["text", 0, "aab"])
    const other = '{"model":"m","created_at":"t\\","message":{"role":"assistant","content":"x"},"done":false}\n'
    expect(events([Buffer.concat([lines("a"), Buffer.from(other)])]).isSound).toBe(false)
  })

  it("refuses a line over the limit", () => {
    const decoder = upstream.makeDecoder(new RecordingSink())
    expect(decoder.push(Buffer.alloc(maxEventBytes, 0x61))).toBe(true)
    expect(decoder.push(Buffer.from("aa"))).toBe(false)
    // What is held counts for the whole process.
    decoder.close()
  })
})

describe("the tap of forwarded lines", () => {
  it("forwards the same bytes and knows what they say", () => {
    const bytes = of("plain")
    expect(tapped([bytes])).toEqual({
      out: bytes.toString(), alive: true, useful: true, terminal: true, finished: true, malformed: false, error: null, text: "The sky is blue.",
      usage: { input: 26, output: 282, cacheRead: 0, cacheCreation: 0, reasoning: 0 }
    })
    const tap = upstream.makePassThroughTap({ forwardUsage: true }, null)
    expect(tap.push(bytes)).toBe(bytes)
  })

  it("forwards neither an error nor what follows it, nor what follows the end", () => {
    const broken = tapped([of("error-in-the-middle")])
    expect(broken.out.split("\n").length).toBe(3)
    expect(broken).toMatchObject({ useful: true, terminal: false, finished: false, error: { message: "an error was encountered while running the model: CUDA error" } })
    expect(tapped([of("error-first")])).toMatchObject({ out: "", alive: false, useful: false })
    expect(tapped([of("done-twice")]).out.match(/"done":true/g)).toHaveLength(1)
    expect(tapped([of("broken-json")])).toMatchObject({ malformed: true, terminal: false })
    expect(tapped([of("truncated")])).toMatchObject({ finished: false, terminal: false, malformed: false, usage: null, out: of("truncated").toString() })
    const empty = tapped([Buffer.from('{"model":"m","message":{"role":"assistant","content":""},"done":false}\n')])
    expect(empty).toMatchObject({ alive: true, useful: false })
  })

  it("ends a broken stream with one error line, and nothing after it", () => {
    const tap = upstream.makePassThroughTap({ forwardUsage: true }, null)
    tap.push(of("truncated"))
    expect(Buffer.from(tap.fail(publicError("upstream_reset", "The upstream reset the connection."))).toString())
      .toBe('{"error":"The upstream reset the connection.","type":"server_error","code":"upstream_reset"}\n')
    expect(tap.push(of("plain"))).toBeNull()
  })
})

describe("lines for a client", () => {
  const write = (play: (encoder: ReturnType<typeof client.makeEncoder>) => void) => {
    const encoder = client.makeEncoder(options)
    play(encoder)
    return encoder.take()
  }
  const parsed = (out: string) => out.trimEnd().split("\n").map((one) => JSON.parse(one) as Record<string, unknown>)
  const head = { id: "x", model: "gpt", createdAt: 1_760_000_000, serviceTier: null, systemFingerprint: null }
  const base = { model: "gpt", created_at: "2025-10-09T08:53:20.000Z" }
  const image: MediaPart = { kind: "image", source: { kind: "base64", mediaType: "image/png", data: "AAAA" }, detail: null, name: null, context: null, citations: null, cache: null, signature: null }

  it("come in the vendor's order: text, calls in one line, one last line", () => {
    const out = write((to) => {
      to.start(head)
      to.reasoning(0, "hm", false)
      to.signature(0, { family: "messages", value: "s" })
      to.partEnd(0)
      to.text(0, "a\\\"b")
      to.logprobs(0, [{ token: "a", logprob: -1, bytes: null, top: [] }])
      to.toolCall(0, 0, "c1", "f", false, null)
      to.toolArguments(0, 0, "{\\\"n\\\":")
      to.toolCall(0, 1, "c2", "g", false, null)
      to.toolArguments(0, 0, " 1.0}")
      to.partEnd(0)
      to.media(0, image)
      to.text(1, "another choice")
      to.tokens({ input: 3, output: 4, cacheRead: 1, cacheCreation: 0, reasoning: 2 })
      to.finish(0, "tool-calls", null)
      to.done()
      to.done()
      to.text(0, "late")
    })
    const line = (message: object, over: object = { done: false }) => ({ ...base, message: { role: "assistant", content: "", ...message }, ...over })
    expect(parsed(out)).toEqual([
      line({ thinking: "hm" }), line({ content: 'a"b' }), line({}, { done: false, logprobs: [{ token: "a", logprob: -1 }] }),
      line({ tool_calls: [{ id: "c1", function: { index: 0, name: "f", arguments: { n: 1 } } }, { id: "c2", function: { index: 1, name: "g", arguments: {} } }] }),
      line({ images: ["AAAA"] }),
      line({}, { done: true, done_reason: "stop", total_duration: 0, load_duration: 0, prompt_eval_count: 3, prompt_eval_duration: 0, eval_count: 4, eval_duration: 0 })
    ])
    expect(out).toContain('"arguments":{"n": 1.0}')
  })

  it("say how long it took, and why it ended", () => {
    let now = 10
    const of = (reason: FinishReason) => {
      const encoder = client.makeEncoder({ ...options, now: () => now })
      encoder.start({ ...head, model: null, createdAt: null })
      now += 0.5
      encoder.finish(0, reason, null)
      encoder.done()
      return parsed(encoder.take())[0] as Record<string, unknown>
    }
    expect(of("stop")).toMatchObject({ model: "asked/model", created_at: "1970-01-01T00:00:10.000Z", total_duration: 500_000_000, eval_duration: 500_000_000 })
    expect((["stop", "stop-sequence", "length", "context", "tool-calls", "content-filter", "refusal", "pause"] as const).map((reason) => of(reason)["done_reason"]))
      .toEqual(["stop", "stop", "length", "length", "stop", "content_filter", "content_filter", "stop"])
  })

  it("are complete for an answer of nothing", () => {
    expect(parsed(write((to) => to.done()))).toMatchObject([{ model: "asked/model", message: { content: "" }, done: true, done_reason: "stop" }])
  })

  it("keep arguments that are no object, and never break a line", () => {
    const out = write((to) => {
      to.start(head)
      to.toolCall(0, 0, "c", "f", true, null)
      to.toolArguments(0, 0, "free\\ntext")
      to.toolCall(0, 1, "d", "g", false, null)
      to.toolArguments(0, 1, "{\\n \\\"a\\\": 1\\n}")
      to.toolCall(0, 2, "e", "h", false, null)
      to.toolArguments(0, 2, "[1")
      to.done()
    })
    expect(out.split("\n")).toHaveLength(3)
    expect(parsed(out)[0]).toMatchObject({ message: { tool_calls: [{ function: { arguments: { input: "free\ntext" } } }, { function: { arguments: { a: 1 } } }, { function: { arguments: { arguments: "[1" } } }] } })
  })

  for (const [name, bytes] of streams) {
    it(`${name}: written and read again, the same events; broken anywhere, one error line`, () => {
      const sink = client.makeEncoder(options)
      const decoder = upstream.makeDecoder(sink)
      if (decoder.push(bytes)) decoder.end()
      const out = sink.take()
      const told = (pieces: ReadonlyArray<Buffer>) => events(pieces).events.filter(([event]) => event !== "failed").map((event) => event[0] === "start" ? ["start"] : event)
      const withoutUsageOfNothing = (list: ReadonlyArray<ReadonlyArray<unknown>>) => list.filter(([event]) => event !== "tokens")
      expect(withoutUsageOfNothing(told([Buffer.from(out)]))).toEqual(withoutUsageOfNothing(told([bytes])))
      const error = publicError("upstream_reset", "reset")
      for (let at = 0; at <= bytes.length; at += 7) {
        const encoder = client.makeEncoder(options)
        upstream.makeDecoder(encoder).push(bytes.subarray(0, at))
        const all = encoder.fail(error)
        const isDone = all.includes('"done":true')
        expect(all === "" ? 0 : parsed(all).filter((one) => typeof one["error"] === "string" || one["done"] === true).length).toBe(1)
        expect(all.endsWith('{"error":"reset","type":"server_error","code":"upstream_reset"}\n')).toBe(!isDone)
        encoder.text(0, "late")
        encoder.done()
        expect(encoder.fail(error) + encoder.take()).toBe("")
      }
    })
  }

  it("of a heartbeat are read by every line reader as nothing", () => {
    const beat = client.heartbeat(true, new Date(0), { model: "m" })
    expect(JSON.parse(beat)).toEqual({ model: "m", created_at: "1970-01-01T00:00:00.000Z", message: { role: "assistant", content: "" }, done: false })
    expect(beat.endsWith("\n")).toBe(true)
  })
})
