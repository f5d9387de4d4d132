/** Events of some hundred kilobytes and more: their pictures pass unread, whatever else they carry is read as ever. */
import { describe, expect, it } from "vitest"
import * as Formats from "#src/wire/formats.ts"
import { longEventBytes, LongStrings } from "#src/wire/json/LongStrings.ts"
import { chance } from "#test/support/chance.ts"

const faces = ["chat-completions", "messages", "responses", "generateContent", "local-model-server"] as const
type Family = typeof faces[number]

const picture = (bytes: number): string => Buffer.alloc(bytes, "\u0089PNG\r\n\u001a\n some pixels", "latin1").toString("base64")
const short = picture(60)
const long = picture(900_001)
const sse = (data: object): string => `data: ${JSON.stringify(data)}\n\n`
const named = (type: string, data: object): string => `event: ${type}\n${sse({ type, ...data })}`
const chat = (delta: object, finish: string | null = null): string =>
  sse({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })
const candidate = (parts: ReadonlyArray<object>, more: object = {}): string =>
  sse({ candidates: [{ index: 0, content: { role: "model", parts }, ...more }], modelVersion: "m", responseId: "r" })
const item = (image: string) => ({ type: "image_generation_call", id: "ig", status: "completed", output_format: "png", result: image })
const message = { id: "m", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } }

/** A stream of each family that shows a picture. */
const pictured: Readonly<Partial<Record<Family, (image: string) => string>>> = {
  "chat-completions": (image) => chat({ role: "assistant", content: "See:" }) +
    chat({ images: [{ type: "image_url", image_url: { url: `data:image/png;base64,${image}` } }] }) + chat({}, "stop") + "data: [DONE]\n\n",
  responses: (image) => named("response.created", { response: { id: "r", model: "m", created_at: 1, output: [] } }) +
    named("response.output_item.added", { output_index: 0, item: { ...item(""), status: "in_progress", result: null } }) +
    named("response.output_item.done", { output_index: 0, item: item(image) }) +
    named("response.completed", { response: { id: "r", model: "m", created_at: 1, status: "completed", output: [item(image)] } }),
  generateContent: (image) => candidate([{ text: "See:" }, { inlineData: { mimeType: "image/png", data: image } }]) + candidate([{ text: "." }], { finishReason: "STOP" }),
  "local-model-server": (image) => [
    { model: "m", created_at: "2026-01-01T00:00:00Z", message: { role: "assistant", content: "See:", images: [image] }, done: false },
    { model: "m", created_at: "2026-01-01T00:00:01Z", message: { role: "assistant", content: "" }, done: true, done_reason: "stop", prompt_eval_count: 1, eval_count: 1 }
  ].map((line) => `${JSON.stringify(line)}\n`).join("")
}

/** A stream of each family that says a text. */
const saying: Readonly<Record<Family, (text: string) => string>> = {
  "chat-completions": (text) => chat({ role: "assistant", content: "x" }) + chat({ content: text }) + chat({ content: "y" }) + chat({}, "stop") + "data: [DONE]\n\n",
  messages: (text) => named("message_start", { message }) + named("content_block_start", { index: 0, content_block: { type: "text", text: "" } }) +
    ["x", text, "y"].map((piece) => named("content_block_delta", { index: 0, delta: { type: "text_delta", text: piece } })).join("") +
    named("content_block_stop", { index: 0 }) + named("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 3 } }) + named("message_stop", {}),
  responses: (text) => named("response.created", { response: { id: "r", model: "m", created_at: 1, output: [] } }) +
    ["x", text, "y"].map((delta) => named("response.output_text.delta", { item_id: "i", output_index: 0, content_index: 0, delta })).join("") +
    named("response.completed", { response: { id: "r", model: "m", created_at: 1, status: "completed", output: [] } }),
  generateContent: (text) => candidate([{ text: "x" }]) + candidate([{ text }]) + candidate([{ text: "y" }], { finishReason: "STOP" }),
  "local-model-server": (text) => ["x", text, "y"].map((content, i) =>
    `${JSON.stringify({ model: "m", created_at: "2026-01-01T00:00:00Z", message: { role: "assistant", content }, done: i === 2, ...(i === 2 ? { done_reason: "stop" } : {}) })}\n`).join("")
}

interface Passed {
  readonly text: string
  readonly malformed: boolean
  readonly terminal: boolean
  /** Characters of the answer that are counted where the upstream does not. */
  readonly counted: number
}

/** What a client of `face` gets of a stream of `family` that comes in pieces of these lengths. */
const pass = (face: Family, family: Family, stream: string, lengths: ReadonlyArray<number> = [64 * 1024]): Passed => {
  const tap = Formats.dialectOf(Formats.client(face), Formats.family(family), {
    model: "m", request: {}, makeId: () => "x".repeat(24), now: () => 1
  }).makeTap({ forwardUsage: true })
  const bytes = Buffer.from(stream)
  const out: Array<Buffer> = []
  const take = (piece: Uint8Array | null): void => {
    if (piece !== null) out.push(Buffer.from(piece))
  }
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const length = lengths[i % lengths.length] as number
    // What the gateway reads is borrowed: the same room holds the next piece.
    const borrowed = Buffer.from(bytes.subarray(at, at + length))
    take(tap.push(borrowed))
    borrowed.fill(0x3f)
    at += length
  }
  take(tap.end())
  return { text: Buffer.concat(out).toString("utf8"), malformed: tap.malformed, terminal: tap.terminal, counted: tap.outputText().length }
}

describe.each(Object.entries(pictured) as ReadonlyArray<[Family, (image: string) => string]>)("a long picture of %s", (family, stream) => {
  it.each(faces)("reaches a client of %s as a short one does", (face) => {
    const { malformed, terminal, text } = pass(face, family, stream(short))
    const got = pass(face, family, stream(long))
    expect([got.malformed, got.terminal]).toEqual([false, terminal])
    expect(malformed).toBe(false)
    expect(got.text === text.replaceAll(short, long)).toBe(true)
  })

  it("arrives whole however it is cut", () => {
    const whole = pass("generateContent", family, stream(long)).text
    const { below, seed } = chance()
    for (let run = 0; run < 8; run++) {
      const lengths = Array.from({ length: 3 + below(7) }, () => 1 + below(300_000))
      expect(pass("generateContent", family, stream(long), lengths).text === whole, `seed ${seed}, ${lengths.join()}`).toBe(true)
    }
  })
})

describe.each(faces)("a long text of %s", (family) => {
  it.each(faces)("reaches a client of %s, also one that looks like a picture", (face) => {
    for (const text of [long, `\\ "é" \u0001\n ${"word, ".repeat(60_000)}`, `${"\\\"".repeat(200_000)}`]) {
      const got = pass(face, family, saying[family](text))
      expect(got.malformed).toBe(false)
      expect(textIn(face, got.text) === `x${text}y`).toBe(true)
      expect(got.counted).toBeGreaterThan(0.99 * text.length)
    }
  })

  it.each(faces)("that is no base64 is refused above 4 MiB, before a client of %s gets a byte of it", (face) => {
    const got = pass(face, family, saying[family]("many words, ".repeat(400_000)))
    // A delta of text of the same format is forwarded unread by two families.
    if (face === family && (family === "responses" || family === "chat-completions")) expect(got.malformed).toBe(false)
    else {
      expect(got.malformed).toBe(true)
      expect(got.text).not.toContain("many words")
    }
  })
})

/** Everything that the frames of a face say, as one text. */
const textIn = (face: Family, stream: string): string => {
  type Frame = Readonly<Record<string, unknown>>
  const frames = stream.split("\n").flatMap((line) => {
    const data = line.startsWith("data: {") ? line.slice(6) : line.startsWith("{") ? line : null
    return data === null ? [] : [JSON.parse(data) as Frame]
  })
  const said: Readonly<Record<Family, (frame: Frame) => unknown>> = {
    "chat-completions": (frame) => (frame as { choices?: ReadonlyArray<{ delta?: { content?: string } }> }).choices?.[0]?.delta?.content,
    messages: (frame) => (frame as { delta?: { text?: string } }).delta?.text,
    responses: (frame) => frame["type"] === "response.output_text.delta" ? frame["delta"] : "",
    generateContent: (frame) => (frame as { candidates?: ReadonlyArray<{ content?: { parts?: ReadonlyArray<{ text?: string }> } }> })
      .candidates?.[0]?.content?.parts?.map((part) => part.text ?? "").join(""),
    "local-model-server": (frame) => (frame as { message?: { content?: string } }).message?.content
  }
  return frames.map((frame) => String(said[face](frame) ?? "")).join("")
}

describe("a long event", () => {
  it.each(faces)("with more values than a picture has is refused for a client of %s", (face) => {
    const crowd = `,"crowd":[${Array.from({ length: 250_000 }, () => "{}").join(",")}]}\n\n`
    const stream = candidate([{ text: "See:" }]).replace("}\n\n", crowd)
    expect(pass(face, "generateContent", stream).malformed).toBe(true)
  })

  it("keeps long signatures and arguments of tools", () => {
    const stream = candidate([{ functionCall: { name: "draw", args: { image: long } }, thoughtSignature: long }], { finishReason: "STOP" })
    const got = pass("chat-completions", "generateContent", stream)
    expect(got.malformed).toBe(false)
    expect(got.text.split(long).length - 1).toBeGreaterThanOrEqual(1)
    const calls = got.text.split("\n\n").filter((frame) => frame.startsWith("data: {")).map((frame) => JSON.parse(frame.slice(6)) as {
      choices: ReadonlyArray<{ delta: { tool_calls?: ReadonlyArray<{ function?: { arguments?: string } }> } }>
    }).map((frame) => frame.choices[0]?.delta.tool_calls?.[0]?.function?.arguments ?? "").join("")
    expect(JSON.parse(calls)).toEqual({ image: long })
  })

  it("says a mark of its own stream alone", () => {
    const [one, other] = [new LongStrings(), new LongStrings()]
    const bytes = Buffer.from(JSON.stringify({ data: long }))
    expect(bytes.length).toBeGreaterThan(longEventBytes)
    const marked = one.shorten(bytes, 0, bytes.length)
    expect(marked.length).toBeLessThan(300)
    expect(one.restore(marked)).toBe(bytes.toString())
    expect(other.restore(marked)).toBe(marked)
    one.forget()
    const again = one.shorten(bytes, 0, bytes.length)
    expect(again).not.toBe(marked)
    expect(one.bytesOf(again).equals(bytes)).toBe(true)
  })

  it("is told apart from its neighbours wherever its strings stand", () => {
    const { below, one, seed } = chance()
    for (let run = 0; run < 40; run++) {
      const list = Array.from({ length: 1 + below(6) }, () => ({ kind: one(["base64", "url", "text", "small"]), length: 1 + below(200_000) }))
      const value = list.map(({ kind, length }) => kind === "base64" ? picture(length) : kind === "url" ? `data:image/png;base64,${picture(length)}`
        : kind === "small" ? "a\"b" : "é, \\ ".repeat(Math.ceil(length / 8)))
      const bytes = Buffer.from(JSON.stringify({ head: "h", value, tail: [1, 2] }))
      const long = new LongStrings()
      const marked = long.shorten(bytes, 0, bytes.length)
      expect(long.restore(marked) === bytes.toString(), `seed ${seed}`).toBe(true)
      expect(long.bytesOf(marked).equals(bytes), `seed ${seed}`).toBe(true)
      const left = JSON.parse(marked) as { value: ReadonlyArray<string> }
      list.forEach(({ kind, length }, i) => {
        if (kind === "base64" && length > 60_000) expect(left.value[i]?.length, `seed ${seed}`).toBeLessThan(200)
      })
    }
  })
})
