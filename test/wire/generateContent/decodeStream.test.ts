import { describe, expect, it } from "vitest"
import { upstream } from "#src/wire/generateContent/index.ts"
import { RecordingSink } from "#test/support/wire/RecordingSink.ts"
import { byBytes, everyCut, randomCut } from "#test/support/wire/splits.ts"
import { decoded, fixture, fixtures, tapped } from "./support.ts"

const events = (name: string) => decoded([fixture("streams", name)]).events
const named = (name: string, ...kinds: ReadonlyArray<string>) => events(name).filter(([kind]) => kinds.includes(kind))
const SIG = { family: "generateContent", value: "CiQBcsjafF5kXc6sYzHtlJ0zFgEGq1Yw0S1cSCKkbEv0wZ8KRQFyyNp8" }

describe("a decoder and a tap say the same for every cut of the bytes", () => {
  it.each(fixtures("streams"))("%s", (_, bytes) => {
    const whole = { ...decoded([bytes]), tap: tapped([bytes]) }
    for (const cut of everyCut(bytes)) expect({ ...decoded(cut), tap: tapped(cut) }).toEqual(whole)
    expect({ ...decoded(byBytes(bytes)), tap: tapped(byBytes(bytes)) }).toEqual(whole)
    for (let seed = 1; seed <= 50; seed++) {
      const cut = randomCut(bytes, seed)
      expect({ ...decoded(cut), tap: tapped(cut) }).toEqual(whole)
    }
  })

  it.each(fixtures("streams"))("%s: with other line ends and spaces too", (_, bytes) => {
    const plain = bytes.toString().replaceAll("\r\n", "\n")
    const whole = decoded([Buffer.from(plain)])
    for (const other of [plain.replaceAll("\n", "\r\n"), plain.replaceAll("\n", "\r"), plain.replaceAll("data: ", "data:"), `\uFEFF: hi\n\n${plain}`]) {
      expect(decoded([Buffer.from(other)])).toEqual(whole)
    }
  })
})

describe("what a stream says", () => {
  it("plain text, with the counts of every chunk", () => {
    const [start, ...rest] = events("plain")
    expect(start).toEqual(["start", { id: "c7VYaL6kEsKz7dcPq9KMwAE", model: "gemini-3-flash-preview", createdAt: null, serviceTier: null, systemFingerprint: null }])
    expect(rest.filter(([kind]) => kind === "text").map(([, , text]) => text).join("")).toBe("Hello brave new world!")
    expect(rest.filter(([kind]) => kind === "tokens").map(([, usage]) => (usage as { output: number }).output)).toEqual([2, 4, 6, 8, 10, 10])
    expect(rest.slice(-3)).toEqual([["finish", 0, "stop", null], ["tokens", { input: 8, output: 10, cacheRead: 0, cacheCreation: 0, reasoning: 0 }], ["done"]])
  })

  it("text is passed on unescaped by nobody, whatever stands in it", () => {
    expect(named("unicode-and-escapes", "text").map(([, , text]) => text).join("")).toBe(
      'Grüße, 世界! quote " back\\slash \n é / tab\thalf 😀 whole 👩‍🚀 says {"error":{"code":500}} and "usageMetadata" "finishReason":"STOP" [DONE] done 👩‍🚀'
    )
    expect(events("unicode-and-escapes").at(-1)).toEqual(["done"])
  })

  it("thoughts end where text begins; a signature in an empty last piece signs the text", () => {
    expect(named("thoughts-then-text-signed", "reasoning", "text", "signature", "partEnd", "finish")).toEqual([
      ["reasoning", 0, true, "**Plan**\n"], ["reasoning", 0, true, "First, look."], ["partEnd", 0], ["text", 0, "It is"], ["text", 0, " 42."],
      ["signature", 0, SIG], ["partEnd", 0], ["finish", 0, "stop", null]
    ])
    expect(named("thoughts-then-text-signed", "tokens").at(-1)).toEqual(["tokens", { input: 10, output: 24, cacheRead: 3, cacheCreation: 0, reasoning: 20 }])
  })

  it("calls come whole, numbered, signed", () => {
    expect(named("calls-parallel-signed", "toolCall", "toolArguments", "finish")).toEqual([
      ["toolCall", 0, 0, "fc_1", "get_weather", false, SIG], ["toolArguments", 0, 0, '{"city":"Zürich 🏔","days":3}'],
      ["toolCall", 0, 1, "fc_2", "get_weather", false, null], ["toolArguments", 0, 1, '{"city":"東京"}'],
      ["toolCall", 0, 2, "fc_3", "get_time", false, null], ["toolArguments", 0, 2, "{}"], ["finish", 0, "tool-calls", null]
    ])
    expect(named("calls-without-ids", "toolCall").map(([, , , id]) => id)).toEqual(["call_c7VYaL6kEsKz7dcPq9KMwAE_0", "call_c7VYaL6kEsKz7dcPq9KMwAE_1"])
    expect(named("signature-alone-after-calls", "hiddenReasoning")).toEqual([["hiddenReasoning", 0, SIG, null]])
  })

  it.each([
    ["length", "length"], ["safety", "content-filter"], ["prompt-blocked", "content-filter"], ["calls-without-ids", "tool-calls"], ["vertex", "stop"]
  ])("%s ends with %s", (name, reason) => {
    expect(events(name).slice(-3).filter(([kind]) => kind !== "tokens")).toEqual([["finish", 0, reason, null], ["done"]])
  })

  it("citations count characters, not bytes", () => {
    expect(named("citations", "annotation").map(([, , one]) => one)).toMatchObject([
      { kind: "url", url: "https://a.test/z", title: "Zürich", start: 0, end: 17 }, { url: "https://b.test/r", start: 18, end: 30 }, { url: "https://c.test/", start: 18, end: 22 }
    ])
  })

  it("log probabilities, candidates, pictures, times", () => {
    expect(named("logprobs", "logprobs")).toEqual([
      ["logprobs", 0, [{ token: "Yes", logprob: -0.25, bytes: null, top: [{ token: "Yes", logprob: -0.25, bytes: null }, { token: "No", logprob: -2.5, bytes: null }] }]],
      ["logprobs", 0, [{ token: "!", logprob: -0.5, bytes: null, top: [{ token: "!", logprob: -0.5, bytes: null }] }]]
    ])
    expect(named("two-candidates", "text", "finish")).toEqual([
      ["text", 0, "To"], ["text", 1, "Mi"], ["text", 0, "m"], ["text", 1, "a"], ["finish", 0, "stop", null], ["finish", 1, "length", null]
    ])
    expect(named("image-out", "media")).toMatchObject([["media", 0, { kind: "image", source: { kind: "base64", mediaType: "image/png" } }]])
    expect(events("vertex")[0]).toMatchObject(["start", { createdAt: 1_795_255_200, model: "gemini-2.5-pro" }])
  })

  it("an error object ends it; what was cut off has no end", () => {
    expect(events("error-in-stream").at(-1)).toMatchObject(["failed", { message: "The model is overloaded. Please try again later.", type: "UNAVAILABLE", code: "MODEL_OVERLOADED", status: 503 }])
    expect(events("error-first")).toMatchObject([["failed", { message: "Quota exceeded.", type: "RESOURCE_EXHAUSTED", code: null, status: 429 }]])
    expect(named("truncated", "finish", "done")).toEqual([])
    expect(events("no-last-newline").at(-1)).toEqual(["done"])
  })
})

describe("the quick way and the parser agree", () => {
  const frame = (text: string, tail = "") => `data: {"candidates":[{"content":{"parts":[{"text":${text}}],"role":"model"},"index":0${tail}}],"usageMetadata":{"promptTokenCount":1},"responseId":"r"}\n\n`
  const after = (second: string) => decoded([Buffer.from(frame('"a"') + second)])
  const finished = ',"finishReason":"STOP"'

  it.each([
    ["a control character", frame('"b\tc"')],
    ["an escape that is none", frame('"b\\xc"')],
    ["half a unicode escape", frame('"b\\u12"')],
    ["an open literal", 'data: {"candidates":[{"content":{"parts":[{"text":"b\n\n']
  ])("refuses %s", (_, second) => {
    expect(after(second).understood).toBe(false)
  })

  it("sees a finish reason, another part, another count behind the same text", () => {
    expect(after(frame('"b"', finished)).events.slice(-2)).toMatchObject([["tokens", {}], ["done"]])
    expect(after(frame('"b"},{"functionCall":{"name":"f"}')).events.map(([kind]) => kind)).toContain("toolCall")
    expect(after(frame('"b"').replace('"promptTokenCount":1', '"promptTokenCount":23')).events.at(-1)).toEqual(["tokens", { input: 23, output: 0, cacheRead: 0, cacheCreation: 0, reasoning: 0 }])
    expect(after(frame('"b","thought":true')).events.map(([kind]) => kind)).toContain("reasoning")
    expect(after('data: [DONE]\n\nevent: other\n\n').understood).toBe(true)
  })

  it("looks at every byte behind the text", () => {
    const extended = frame('"b"').replace('"responseId":"r"}', '"responseId":"r","error":{"code":500,"message":"x"}}')
    expect(after(extended).events.at(-1)).toMatchObject(["failed", { status: 500 }])
    expect(after(frame('"b"').replace('"responseId":"r"}', '"responseId":"r","promptFeedback":{"blockReason":"SAFETY"}}')).events.map(([kind]) => kind)).toContain("done")
  })

  it("reads data over several lines", () => {
    const lines = (text: string) => JSON.stringify(JSON.parse(frame(`"${text}"`).slice(6)), null, 1).split("\n").map((line) => `data: ${line}\n`).join("") + "\n"
    expect(after(lines("b") + lines("c")).events.filter(([kind]) => kind === "text").map(([, , text]) => text)).toEqual(["a", "b", "c"])
  })

  it("ignores a wild candidate index", () => {
    expect(decoded([Buffer.from('data: {"candidates":[{"content":{"parts":[{"text":"x"}]},"index":4000000000}]}\n\n')]).events).toContainEqual(["text", 0, "x"])
  })

  it("never throws on whatever an upstream sends", () => {
    const odd: ReadonlyArray<unknown> = [null, 5, "x", [], {}, [null], [{}], { parts: 5 }, { parts: [null, 5, {}] }]
    for (const one of odd) {
      for (const body of [
        { candidates: one }, { candidates: [one] }, { candidates: [{ content: one, finishReason: one, index: one }] }, { candidates: [{ content: { parts: [{ functionCall: one, text: one }] } }] },
        { usageMetadata: one, promptFeedback: one, modelVersion: one, responseId: one, createTime: one }, { error: one },
        { candidates: [{ groundingMetadata: { groundingChunks: one, groundingSupports: [{ segment: one, groundingChunkIndices: [0, one] }] }, citationMetadata: { citations: one }, logprobsResult: { chosenCandidates: one, topCandidates: one } }] }
      ]) {
        const bytes = Buffer.from(`data: ${JSON.stringify(body)}\n\n`)
        decoded([bytes])
        tapped([bytes])
        upstream.decodeAnswer(body)
        upstream.readAnswer(body)?.outputText()
        upstream.readError(body)
      }
    }
  })
})

describe("the tap", () => {
  it.each(fixtures("streams").filter(([name]) => !name.startsWith("error")))("%s: forwards every byte", (_, bytes) => {
    // What lacks its last newline gets one: clients pass over an event without.
    expect(tapped([bytes]).bytes).toBe(bytes.toString().replace(/[^\n]$/, "$&\n\n"))
    const tap = upstream.makePassThroughTap({ forwardUsage: false }, null)
    const chunk = fixture("streams", "plain")
    expect(tap.push(chunk)).toBe(chunk)
  })

  it("reads usage, the end, and what was said", () => {
    expect(tapped([fixture("streams", "plain")])).toMatchObject({ usage: { input: 8, output: 10 }, finished: true, terminal: true, useful: true, alive: true, text: "Hello brave new world!" })
    expect(tapped([fixture("streams", "truncated")])).toMatchObject({ usage: { output: 3 }, finished: false, terminal: false, text: "One two three" })
    expect(tapped([fixture("streams", "two-candidates").subarray(0, -10)])).toMatchObject({ finished: false })
    expect(tapped([fixture("streams", "prompt-blocked")])).toMatchObject({ finished: true, useful: true })
    expect(tapped([Buffer.from('data: {"candidates":[{"finishReason":"STOP"}]}\n\n')])).toMatchObject({ finished: true, useful: false, alive: true })
    expect(tapped([Buffer.from('data: {"candidates":[{"finishReason":"MAX_TOKENS"}]}\n\n')])).toMatchObject({ finished: true, useful: true })
  })

  it("keeps an error from the client, and all that follows", () => {
    const bytes = fixture("streams", "error-in-stream")
    const error = tapped([Buffer.concat([bytes, fixture("streams", "plain")])])
    expect(error.bytes).toBe(bytes.toString().slice(0, bytes.toString().indexOf('data: {"error"')))
    expect(error).toMatchObject({ error: { status: 503, code: "MODEL_OVERLOADED" }, terminal: false })
    expect(tapped([Buffer.from("data: {oops\n\ndata: {}\n\n")])).toMatchObject({ malformed: true, bytes: "" })
    expect(tapped([Buffer.from("data: [DONE]\n\n")])).toMatchObject({ malformed: false, bytes: "" })
  })

  it("a sink that hears nothing after an error", () => {
    const sink = new RecordingSink()
    const decoder = upstream.makeDecoder(sink)
    decoder.push(fixture("streams", "error-first"))
    decoder.push(fixture("streams", "plain"))
    decoder.end()
    expect(sink.events.length).toBe(1)
  })
})
