import { describe, expect, it } from "@effect/vitest"
import * as Errors from "#schemas/errors.ts"
import { AnswerBuilder } from "#src/wire/neutral/AnswerBuilder.ts"
import { upstream } from "#src/wire/responses/index.ts"
import { byBytes, everyCut, randomCut } from "#test/support/wire/splits.ts"
import { anyText, decoded, fixture, fixtures, parsed, tapped } from "./support.ts"

const events = (name: string) => decoded([fixture("streams", name)]).events
const kinds = (name: string) => events(name).map((event) => event[0])
const frames = (...data: ReadonlyArray<unknown>): Buffer => Buffer.from(data.map((one) => `data: ${typeof one === "string" ? one : JSON.stringify(one)}\n\n`).join(""))

/** Cheaper than an expectation: it is asked for every cut. */
const same = (found: string, whole: string): void => {
  if (found !== whole) expect(found).toBe(whole)
}

describe("decoder", () => {
  for (const { bytes, name } of fixtures("streams")) {
    it(`${name}: the same events for a cut at every byte`, () => {
      const whole = JSON.stringify(decoded([bytes]))
      for (const pieces of everyCut(bytes)) same(JSON.stringify(decoded(pieces)), whole)
      same(JSON.stringify(decoded(byBytes(bytes))), whole)
      for (let seed = 1; seed <= 50; seed++) same(JSON.stringify(decoded(randomCut(bytes, seed))), whole)
    })
  }

  it("text, finish and usage", () => {
    expect(events("plain")).toEqual([
      ["start", { id: "resp_68a1", model: "gpt-5-mini-2025-08-07", createdAt: 1755000000, serviceTier: "default", systemFingerprint: null }],
      ["text", 0, "Hello there!"], ["partEnd", 0], ["tokens", { input: 12, output: 5, cacheRead: 0, cacheCreation: 0, reasoning: 0 }], ["finish", 0, "stop", null], ["done"]
    ])
    expect(events("usage-cached")).toContainEqual(["tokens", { input: 2000, output: 5, cacheRead: 1920, cacheCreation: 0, reasoning: 0 }])
    expect(kinds("usage-absent")).not.toContain("tokens")
    expect(events("length")).toContainEqual(["finish", 0, "length", null])
    expect(events("content-filter")).toContainEqual(["finish", 0, "content-filter", null])
  })

  it("text that looks like frames, every escape and every alphabet", () => {
    expect(events("unicode")).toContainEqual(["text", 0, "Grüße, 世界! 👩‍🚀 \"error\": {\"usage\"} data: [DONE] \\ \n\tok"])
    expect(events("unicode-escaped")).toContainEqual(["text", 0, "Grüße 🌍世界"])
    expect(events("unicode-escaped")).toContainEqual(["toolArguments", 0, 0, "{\"city\":\"Zürich 🌦\"}"])
    expect(events("crlf-comments")).toContainEqual(["text", 0, "a b c"])
  })

  it("calls, in order and numbered, whole at last", () => {
    expect(events("tools-parallel").slice(1, -3)).toEqual([
      ["toolCall", 0, 0, "call_1", "get_weather", false, null], ["toolArguments", 0, 0, "{\"city\":\"Paris\"}"], ["partEnd", 0],
      ["toolCall", 0, 1, "call_2", "get_time", false, null], ["toolArguments", 0, 1, "{}"], ["partEnd", 0]
    ])
    expect(events("tools-parallel")).toContainEqual(["finish", 0, "tool-calls", null])
    expect(events("tool-arguments-only-in-done")).toContainEqual(["toolArguments", 0, 0, "{\"city\":\"Rome\"}"])
    expect(kinds("tool-arguments-empty")).toEqual(["start", "toolCall", "partEnd", "tokens", "finish", "done"])
    expect(events("custom-tool").slice(1, 3)).toEqual([["toolCall", 0, 0, "call_c", "code_exec", true, null], ["toolArguments", 0, 0, "print(\"hi\")\n"]])
  })

  it("reasoning is signed before its part ends; its id travels in the signature", () => {
    expect(events("reasoning-summary-signed").slice(1, 5)).toEqual([
      ["reasoning", 0, true, "**Adding**\n\nTwo and two\n\nSimple."], ["signature", 0, { family: "responses", value: "rs_1|gAAAAABencrypted==" }], ["partEnd", 0], ["text", 0, "4"]
    ])
    expect(events("reasoning-encrypted-only")[1]).toEqual(["hiddenReasoning", 0, { family: "responses", value: "rs_1|gAAAAABonly==" }, "rs_1"])
    expect(events("reasoning-text").slice(1, 3)).toEqual([["reasoning", 0, false, "Thinking hard"], ["partEnd", 0]])
  })

  it("refusals, citations and log probabilities", () => {
    expect(events("refusal")).toContainEqual(["refusal", 0, "I can't help with that."])
    expect(events("citations")).toContainEqual(["annotation", 0, expect.objectContaining({ kind: "url", url: "https://example.com/rain", start: 10, end: 13 })])
    expect(events("citations").filter((event) => event[0] === "annotation")).toHaveLength(1)
    expect(events("logprobs").filter((event) => event[0] === "logprobs")).toHaveLength(2)
  })

  it("an answer that is streamed gives the same parts as one that comes whole", () => {
    const built = (bytes: Buffer) => {
      const builder = new AnswerBuilder()
      const decoder = upstream.makeDecoder(builder)
      decoder.push(bytes)
      return builder.answer().choices[0]
    }
    for (const name of ["refusal", "citations", "custom-tool", "tools-parallel", "reasoning-encrypted-only", "logprobs"]) {
      const whole = upstream.decodeAnswer(parsed(fixture("answers", name)))
      if (whole === null || !("choices" in whole)) throw new Error(name)
      const [choice] = whole.choices
      expect(built(fixture("streams", name)), name).toMatchObject({
        finish: choice!.finish, logprobs: choice!.logprobs, parts: name === "logprobs" || name === "reasoning-encrypted-only" ? expect.anything() : choice!.parts.filter((part) => part.kind !== "opaque")
      })
    }
  })

  it("a stream without any item event is read from its last response", () => {
    expect(events("completed-only").slice(1, -3)).toEqual([
      ["reasoning", 0, true, "Short."], ["signature", 0, { family: "responses", value: "rs_1|gAAAAABc==" }], ["partEnd", 0], ["text", 0, "All at once."], ["partEnd", 0],
      ["toolCall", 0, 0, "call_1", "get_time", false, null], ["toolArguments", 0, 0, "{}"], ["partEnd", 0]
    ])
  })

  it("errors are said once and end the stream; a cut stream neither finishes nor is done", () => {
    expect(events("error-event").at(-1)).toMatchObject(["failed", { message: "The server had an error while processing your request.", type: null, code: "server_error", status: null }])
    expect(events("failed").at(-1)).toMatchObject(["failed", { message: "Rate limit reached.", type: null, code: "rate_limit_exceeded", status: null }])
    for (const name of ["truncated", "truncated-in-frame"]) {
      expect(kinds(name)).not.toContain("finish")
      expect(kinds(name)).not.toContain("done")
    }
    const nested = frames({ type: "error", error: { type: "too_many", code: "rate_limit_exceeded", message: "slow down" }, status_code: 429 }, { type: "response.output_text.delta", delta: "x" })
    expect(decoded([nested]).events).toMatchObject([["failed", { message: "slow down", type: "too_many", code: "rate_limit_exceeded", status: 429 }]])
  })

  it("broken JSON is unsound, unknown events and [DONE] are nothing", () => {
    expect(decoded([frames("{\"type\":")]).isSound).toBe(false)
    expect(decoded([frames({ type: "response.web_search_call.searching", item_id: "x", output_index: 0 }, { type: "keepalive" }, "[DONE]")])).toEqual({ isSound: true, events: [] })
  })

  it("servers that leave things out: no item events, no indexes, the type in the event line only", () => {
    expect(decoded([frames({ type: "response.output_text.delta", delta: "a" }, { type: "response.output_text.delta", delta: "b" }, { type: "response.completed", response: {} })]).events.slice(1))
      .toEqual([["text", 0, "ab"], ["finish", 0, "stop", null], ["done"]])
    const named = Buffer.from("event: response.output_text.delta\ndata: {\"delta\":\"a\"}\n\nevent: response.completed\ndata: {\"response\":{\"status\":\"completed\"}}\n\n")
    expect(decoded([named]).events.map((event) => event[0])).toEqual(["start", "text", "finish", "done"])
    const late = frames(
      { type: "response.output_item.added", output_index: 0, item: { type: "function_call", id: "fc" } },
      { type: "response.function_call_arguments.delta", output_index: 0, delta: "{\"a\":" },
      { type: "response.output_item.done", output_index: 0, item: { type: "function_call", id: "fc", call_id: "c", name: "f", arguments: "{\"a\":1}" } },
      { type: "response.completed", response: { status: "completed" } }
    )
    expect(decoded([late]).events.slice(1, 3)).toEqual([["toolCall", 0, 0, "c", "f", false, null], ["toolArguments", 0, 0, "{\"a\":1}"]])
  })

  it("a frame that only resembles the last one is read with care", () => {
    const delta = (over: object) => ({ type: "response.output_text.delta", sequence_number: 1, item_id: "m", output_index: 0, content_index: 0, delta: "a", logprobs: [], ...over })
    const spoken = (...list: ReadonlyArray<unknown>) => decoded([frames(...list)])
    expect(spoken(delta({}), delta({ delta: "b", logprobs: [{ token: "b", logprob: -1, bytes: null, top_logprobs: [] }] })).events.map((event) => event[0])).toEqual(["start", "text", "logprobs"])
    expect(spoken(delta({}), delta({ error: { message: "no" } })).events.at(-1)).toMatchObject(["failed", { message: "no" }])
    expect(spoken(delta({}), delta({ delta: "\",\"error\":{\"message\":\"no\"},\"x\":\"" })).events.at(-1)).toEqual(["text", 0, "a\",\"error\":{\"message\":\"no\"},\"x\":\""])
    expect(spoken(delta({}), delta({ content_index: 1, delta: "b" })).events.slice(1)).toEqual([["text", 0, "a"], ["partEnd", 0], ["text", 0, "b"]])
    expect(decoded([Buffer.from(`data: ${JSON.stringify(delta({}))}\n\ndata: ${JSON.stringify(delta({})).replace('"a"', '"a\ndata: b"')}\n\n`)]).isSound).toBe(false)
  })

  it.prop("any text survives, however it is cut", { a: anyText, b: anyText, c: anyText }, ({ a, b, c }) => {
    const said = [a, b, c].map((one) => one.toWellFormed())
    const bytes = frames(...said.map((one, i) => ({ type: "response.output_text.delta", sequence_number: i, item_id: "m", output_index: 0, content_index: 0, delta: one })))
    const found = decoded(randomCut(bytes, said.join("").length + 1, 9)).events.filter((event) => event[0] === "text").map((event) => event[2]).join("")
    expect(found).toBe(said.join(""))
  })
})

describe("tap", () => {
  for (const { bytes, name } of fixtures("streams")) {
    it(`${name}: the same bytes and facts for a cut at every byte`, () => {
      const facts = (pieces: ReadonlyArray<Buffer>): string => JSON.stringify({ ...tapped(pieces), tap: null })
      const whole = facts([bytes])
      const check = (pieces: ReadonlyArray<Buffer>): void => same(facts(pieces), whole)
      for (const pieces of everyCut(bytes)) check(pieces)
      check(byBytes(bytes))
      for (let seed = 1; seed <= 50; seed++) check(randomCut(bytes, seed))
    })
  }

  it("forwards a whole stream byte by byte and knows how it ended", () => {
    for (const name of ["plain", "tools-parallel", "reasoning-summary-signed", "unicode", "crlf-comments", "length", "refusal"]) {
      const bytes = fixture("streams", name)
      const facts = tapped([bytes])
      expect(facts.text, name).toBe(bytes.toString("utf8"))
      expect(facts, name).toMatchObject({ alive: true, useful: true, terminal: true, finished: true, malformed: false, error: null })
    }
    expect(tapped([fixture("streams", "reasoning-summary-signed")])).toMatchObject({ usage: { input: 20, output: 30, reasoning: 24 }, output: "**Adding**\n\nTwo and twoSimple.4" })
  })

  it("a chunk that is forwarded whole is the same object", () => {
    const bytes = fixture("streams", "plain")
    expect(upstream.makePassThroughTap({ forwardUsage: true }, null).push(bytes)).toBe(bytes)
  })

  it("head frames are alive, not useful", () => {
    const [created] = fixture("streams", "plain").toString().split(/(?<=\n\n)/)
    expect(tapped([Buffer.from(created!)])).toMatchObject({ alive: true, useful: false, terminal: false })
  })

  it("an error and what follows it are not forwarded; the stream is ended under its own id and number", () => {
    for (const name of ["error-event", "failed"]) {
      const facts = tapped([Buffer.concat([fixture("streams", name), frames({ type: "response.output_text.delta", delta: "more" })])])
      expect(facts.error?.message).toMatch(/error while processing|Rate limit/)
      expect(facts.text).not.toMatch(/more|Rate limit|error while/)
      const end = Buffer.from(facts.tap.fail(Errors.make("bad_gateway", "It broke."))).toString()
      expect(end.match(/^event: /gm)).toHaveLength(1)
      expect(parsed(end.slice(end.indexOf("data: ") + 6))).toMatchObject({
        type: "response.failed", sequence_number: 5, response: { id: "resp_68a1", status: "failed", error: { code: "bad_gateway", message: "It broke." } }
      })
    }
  })

  it("text that mentions an error or the end fools nobody", () => {
    const facts = tapped([frames(
      { type: "response.output_text.delta", delta: "\"error\":{\"message\":\"x\"} {\"type\":\"response.completed\"}" },
      { type: "response.output_text.delta", delta: "b" }
    )])
    expect(facts).toMatchObject({ error: null, terminal: false, useful: true, output: "\"error\":{\"message\":\"x\"} {\"type\":\"response.completed\"}b" })
  })

  it("a cut stream is neither terminal nor finished; broken JSON is malformed", () => {
    expect(tapped([fixture("streams", "truncated")])).toMatchObject({ terminal: false, finished: false, malformed: false })
    expect(tapped([frames({ type: "response.created", response: {} }, "{broken")])).toMatchObject({ malformed: true })
  })
})
