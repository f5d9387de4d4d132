/** Answers in pieces: however a text and its stream are split, the guardrails leave the same of it. */
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { AnswerReading } from "#src/features/guardrails/answers/AnswerReading.ts"
import { GuardedStream } from "#src/features/guardrails/answers/GuardedStream.ts"
import { HELD_MOST, StreamedText } from "#src/features/guardrails/answers/StreamedText.ts"
import { GuardedClient } from "#src/features/guardrails/answers/GuardedClient.ts"
import { refusing } from "#src/features/guardrails/Reading.ts"
import { BodyWorkers } from "#src/inference/lane/bodies/BodyWorkers.ts"
import * as ChatCompletions from "#src/wire/chatCompletions/index.ts"
import * as Rules from "#src/features/guardrails/rules.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"

const modes: Rules.Rules["answers"] = { ...Rules.none.answers, "pii-masker": "redact", "credential-masker": "redact" }
const texts = () => new StreamedText(new AnswerReading(modes).reports, Rules.finders)

const key = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
const pieces = [
  "a@b.co", "joe.doe@mail.example.com", "4111 1111 1111 1111", "123-45-6789", "529.982.247-25", "+44 20 7183 8750", "(11) 91234-5678", `sk-ant-${key}`, `Bearer ${key}`,
  `sk-${key.repeat(10)}`, "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "-----BEGIN", " PRIVATE KEY", "-----", "bearer", "@", ".", ",", "(", "+", "x", "1", "41", " ", " ", "\n", "é", "\u{1f600}",
  "The quick brown fox", "w".repeat(300), "1 ".repeat(150)
]
const Case = Schema.Struct({ text: Schema.Array(Schema.Literals(pieces)), cuts: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40 }))) })

/** The text in pieces of these lengths, again and again. */
const split = (text: string, cuts: ReadonlyArray<number>): ReadonlyArray<string> => {
  const parts: Array<string> = []
  for (let at = 0, i = 0; at < text.length; i++) {
    const length = cuts.length === 0 ? text.length : cuts[i % cuts.length] as number
    parts.push(text.slice(at, at + length))
    at += length
  }
  return parts
}

describe("a text in pieces", () => {
  it.prop("is masked as the whole text is, and at most 256 characters are held", [Arbitrary.schema(Case)], ([{ cuts, text: words }]) => {
    const text = words.join("")
    const streamed = texts()
    let out = ""
    for (const piece of split(text, cuts)) {
      out += streamed.push(piece)
      expect(streamed.held).toBeLessThanOrEqual(HELD_MOST + 1)
    }
    expect(out + streamed.push("", true)).toBe(texts().push(text, true))
  }, { arbitrary: { runs: 2_000 } })

  it("passes at once but for its last word", () => {
    expect(texts().push("Hello dear wor")).toBe("Hello dear ")
    expect(texts().push("Call 12 ")).toBe("Call")
    expect(texts().push("Line.\n")).toBe("Line.\n")
  })
})

const said = ["Write to joe.d", "oe@exam", "ple.com or ", "call +44 20 71", "83 8750"]
const whole = said.join("")
const left = "Write to [EMAIL_REDACTED] or call [PHONE_REDACTED]"
const sse = (events: ReadonlyArray<unknown>): string => events.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join("")
const named = (events: ReadonlyArray<{ readonly type: string }>): string => events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("")

type Event = Record<string, unknown>
const chunk = (choice: Event): Event => ({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, logprobs: null, finish_reason: null, ...choice }] })
const numbered = (events: ReadonlyArray<Event & { type: string }>) => events.map((event, sequence_number) => ({ ...event, sequence_number }))
const part = { type: "output_text", text: whole, annotations: [] }
const item = { id: "i", type: "message", role: "assistant", content: [part] }
const place = { item_id: "i", output_index: 0, content_index: 0 }

const streams: ReadonlyArray<readonly [FormatName, string]> = [
  ["chat-completions", sse([chunk({ delta: { role: "assistant", content: "" } }), ...said.map((content) => chunk({ delta: { content }, logprobs: { content: [{ token: content }] } })), chunk({ delta: {}, finish_reason: "stop" }), { id: "c", choices: [], usage: { total_tokens: 3 } }, "[DONE]"])],
  ["completions", sse([...said.map((text) => ({ id: "c", object: "text_completion", choices: [{ index: 0, text, finish_reason: null }] })), { id: "c", choices: [{ index: 0, text: "", finish_reason: "stop" }] }, "[DONE]"])],
  ["messages", named([
    { type: "message_start" }, { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } } as { type: string },
    ...said.map((text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })), { type: "content_block_stop", index: 0 } as { type: string }, { type: "message_delta", usage: { output_tokens: 3 } } as { type: string }, { type: "message_stop" }
  ])],
  ["responses", named(numbered([
    { type: "response.created" }, ...said.map((delta) => ({ type: "response.output_text.delta", ...place, delta, logprobs: [] })), { type: "response.output_text.done", ...place, text: whole },
    { type: "response.content_part.done", ...place, part }, { type: "response.output_item.done", output_index: 0, item }, { type: "response.completed", response: { output: [item], usage: { output_tokens: 3 } } }
  ]))],
  ["generateContent", sse([...said.map((text) => ({ candidates: [{ index: 0, content: { role: "model", parts: [{ text: "a@b.co", thought: true }, { text }] } }] })), { candidates: [{ index: 0, finishReason: "STOP" }], usageMetadata: { totalTokenCount: 3 } }])],
  ["local-model-server", [...said.map((content) => ({ model: "m", message: { role: "assistant", content }, done: false })), { model: "m", message: { role: "assistant", content: "" }, done: true, eval_count: 3 }].map((line) => `${JSON.stringify(line)}\n`).join("")]
]

/** What the events of all formats have, as far as it is shown. */
interface Shown {
  readonly choices?: ReadonlyArray<{ readonly delta?: { readonly content?: string }; readonly text?: string }>
  readonly delta?: string | { readonly text?: string }
  readonly candidates?: ReadonlyArray<{ readonly content?: { readonly parts: ReadonlyArray<{ readonly text: string; readonly thought?: boolean }> } }>
  readonly message?: { readonly content: string }
}

/** What a client of the format shows of the stream. */
const shown = (stream: string): string =>
  stream.split("\n").map((line) => line.replace(/^data: /, "")).filter((line) => line.startsWith("{")).map((line) => {
    const { candidates, choices, delta, message } = JSON.parse(line) as Shown
    const parts = candidates?.[0]?.content?.parts.filter(({ thought }) => thought !== true) ?? []
    return choices?.[0]?.delta?.content ?? choices?.[0]?.text ?? (typeof delta === "string" ? delta : delta?.text) ?? message?.content ?? parts.map((one) => one.text).join("")
  }).join("")

const guarded = (format: FormatName, stream: string, sizes: ReadonlyArray<number>, by = modes) => {
  const reading = new AnswerReading(by)
  const guard = new GuardedStream(reading, format)
  const bytes = Buffer.from(stream)
  const out: Array<Buffer> = []
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes.length === 0 ? bytes.length : sizes[i % sizes.length] as number
    out.push(guard.push(bytes.subarray(at, at + size)) as Buffer)
    at += size
  }
  return { reading, text: String(Buffer.concat([...out, guard.end()])) }
}

describe.each(streams)("a stream of %s", (format, stream) => {
  it.prop("is masked the same, however its bytes are split", [Arbitrary.schema(Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 200 }))))], ([sizes]) => {
    const { text } = guarded(format, stream, sizes)
    expect(text).toBe(guarded(format, stream, []).text)
  })

  it("says no personal data in any event, and all else as it was", () => {
    const { reading, text } = guarded(format, stream, [])
    expect(shown(text)).toBe(left)
    expect(text).not.toMatch(/joe|oe@exam|7183|83 8750/)
    expect(reading.reports[0]?.found).toEqual({ email: format === "responses" ? 5 : 1, phone_international: format === "responses" ? 5 : 1 })
    const plain = guarded(format, stream.replaceAll("oe@exam", "oe exam").replaceAll("+44 20 71", "x"), []).text
    expect(shown(plain)).toBe(whole.replace("oe@exam", "oe exam").replace("+44 20 71", "x"))
  })

  it("loses no byte where nothing is found and nothing held", () => {
    const spaced = stream.replaceAll(/joe\.d|oe@exam|\+44 20 71|83 8750/g, "so\\n").replaceAll(',"logprobs":{"content":[{"token":"Write to so\\n"}]}', "")
    const without = format === "chat-completions" ? spaced.replaceAll(/"logprobs":\{[^}]*\}\]\}/g, '"logprobs":null') : spaced
    const only = without.replaceAll("ple.com or ", "ple\\n").replaceAll("call so\\n", "call\\n").replaceAll("a@b.co", "thought")
    expect(guarded(format, only, []).text).toBe(only)
  })

  it("is refused in mode block before what was found", () => {
    const { reading, text } = guarded(format, stream, [], { ...modes, "pii-masker": "block" })
    expect(refusing(reading.reports)?.name).toBe("pii-masker")
    expect(shown(text)).toBe("Write to ")
  })
})

it("numbers the events of responses without a gap", () => {
  const [, stream] = streams.find(([format]) => format === "responses") as (typeof streams)[number]
  const numbers = [...guarded("responses", stream, []).text.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number))
  expect(numbers).toEqual(numbers.map((_, i) => i))
  expect(numbers).toHaveLength(said.length + 6)
})

describe("a guardrail of answers that fails", () => {
  const body = JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", content: "Hello a@b.co" } }] })
  const bodies = new BodyWorkers({ threads: 1, heapMb: 64, onDefect: () => undefined, onLost: () => undefined })
  /** What a client gets of the stream and of the whole answer. */
  const got = (mode: Rules.Mode): ReadonlyArray<string> => [(client: GuardedClient) => client.respond(200, ["Content-Type", "application/json"], body), (client: GuardedClient) => {
    client.start(200, [])
    for (const { [0]: event } of streams[0]?.[1].matchAll(/data: .*\n\n/g) ?? []) client.relay(Buffer.from(event))
    client.end()
  }].map((act) => {
    const out: Array<string> = []
    const say = (chunk?: Uint8Array | string) => void (chunk === undefined ? 0 : out.push(String(Buffer.from(chunk))))
    act(new GuardedClient({
      client: { start: () => undefined, relay: (chunk) => { say(chunk); return true }, onDrain: () => undefined, end: say, respond: (status, _headers, all) => { out.push(`${status} `); say(all) }, close: () => undefined },
      codec: ChatCompletions.client, modes: { ...Rules.none.answers, "pii-masker": mode }, bodies, note: () => undefined, requestId: "r",
      finders: { ...Rules.finders, "pii-masker": () => { throw new Error("it broke") } }
    }))
    return out.join("")
  })

  it("lets pass what it only observes", () => {
    expect(got("warn")).toEqual([`200 ${body}`, streams[0]?.[1]])
  })

  it.each(["redact", "block"] as const)("lets nothing pass in mode %s", (mode) => {
    const error = { error: { message: "The guardrail 'pii-masker' failed, and the model's answer must not pass unread; the log holds the error.", type: "server_error", code: "internal_server_error" } }
    const [first] = streams[0]?.[1].split("\n\n") ?? []
    expect(got(mode)).toEqual([`500 ${JSON.stringify(error)}`, `${first}\n\ndata: ${JSON.stringify(error)}\n\ndata: [DONE]\n\n`])
  })
})
