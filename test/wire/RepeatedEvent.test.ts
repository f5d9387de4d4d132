import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { ChatTap } from "#src/wire/chatCompletions/stream/tap.ts"
import { RepeatedEvent } from "#src/wire/stream/RepeatedEvent.ts"
import { passBorrowed } from "#test/support/wire/borrowed.ts"

const eventOf = (text: string, rest: object = {}): string =>
  `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta: { content: text }, finish_reason: null }], ...rest })}\n\n`
const bytesOf = (text: string): Buffer => Buffer.from(text)
const viewOf = (bytes: Buffer): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.length)

const learnt = (text: string): RepeatedEvent => {
  const event = bytesOf(eventOf(text))
  const start = event.indexOf('"content":"') + 11
  const shape = new RepeatedEvent()
  shape.learn(event, start, start + bytesOf(JSON.stringify(text)).length - 2)
  return shape
}

const texts = Arbitrary.schema(Schema.String)

describe("an event that is the one before it but for its text", () => {
  it.prop("is found with its text, wherever it stands", [texts, texts, texts], ([first, second, around]) => {
    const shape = learnt(first)
    const before = bytesOf(`: ${around.replace(/[\r\n]/g, "")}\n\n`)
    const event = bytesOf(eventOf(second))
    const bytes = Buffer.concat([before, event, bytesOf(eventOf(around))])
    assert.strictEqual(shape.match(viewOf(bytes), before.length), before.length + event.length)
    assert.strictEqual(bytes.toString("utf8", shape.textStart, shape.textEnd), JSON.stringify(second).slice(1, -1))
  })

  it.prop("is not taken before all of it is there", [texts, Arbitrary.schema(Schema.Int)], ([text, cut]) => {
    const event = bytesOf(eventOf(text))
    assert.strictEqual(learnt("x").match(viewOf(event.subarray(0, Math.abs(cut) % event.length)), 0), -1)
  })

  it.prop("one byte elsewhere makes it another", [texts, Arbitrary.schema(Schema.Int), Arbitrary.schema(Schema.Int)], ([text, place, change]) => {
    const event = bytesOf(eventOf(text))
    const shape = learnt(text)
    assert.strictEqual(shape.match(viewOf(event), 0), event.length)
    const outside = [...event.keys()].filter((i) => i < shape.textStart || i >= shape.textEnd)
    const at = outside[Math.abs(place) % outside.length] as number
    event[at] = ((event[at] as number) + 1 + Math.abs(change) % 255) % 256
    assert.notStrictEqual(shape.match(viewOf(event), 0), event.length)
  })

  it("raw control characters in the text are for the scanner", () => {
    for (const raw of ["\n\n", "\r", "\n"]) assert.strictEqual(learnt("a").match(viewOf(bytesOf(eventOf("@").replace("@", raw))), 0), -1)
  })

  it("shapes that never come again are given up", () => {
    const shape = new RepeatedEvent()
    for (let i = 0; i < 9; i++) shape.learn(bytesOf(`${i}"`), 1, 1)
    assert.isFalse(shape.known)
  })
})

describe("what stands among repeated events", () => {
  const run = (stream: string, cuts: ReadonlyArray<number>) => {
    const tap = new ChatTap({ forwardUsage: false })
    const bytes = bytesOf(stream)
    const places = [...new Set(cuts.map((cut) => Math.abs(cut) % bytes.length))].sort((a, b) => a - b)
    let out = ""
    let from = 0
    for (const to of [...places, bytes.length]) {
      out += String(passBorrowed(tap, bytes.subarray(from, to)) ?? "")
      from = to
    }
    out += String(tap.end() ?? "")
    return { out, text: tap.outputText(), usage: tap.usage, error: tap.error, terminal: tap.terminal, malformed: tap.malformed, finished: tap.finished }
  }
  const plain = ["a", "b\\n", "\"c\"", "é"].map((text) => eventOf(text)).join("")
  const cases: ReadonlyArray<readonly [string, string]> = [
    ["usage", eventOf("u", { usage: { prompt_tokens: 3, completion_tokens: 4 } })],
    ["usage that is null", eventOf("u", { usage: null })],
    ["an error", 'data: {"error":{"message":"no","code":"x"}}\n\n'],
    ["a finish", eventOf("").replace('"finish_reason":null', '"finish_reason":"stop"')],
    ["a comment", ": hush\n\n"],
    ["carriage returns", eventOf("r").replace("\n\n", "\r\n\r\n")],
    ["broken JSON", eventOf("x").replace("}]}", "}]")],
    ["the last word", "data: [DONE]\n\n"]
  ]
  for (const [name, event] of cases) {
    it.prop(`${name} is seen, however the stream is cut`, [Arbitrary.schema(Schema.Array(Schema.Int))], ([cuts]) => {
      const stream = plain + event + plain
      assert.deepStrictEqual(run(stream, cuts), run(stream, Array.from({ length: stream.length * 2 }, (_, i) => i)))
    })
  }

  it("text and usage of a long run are those of its events", () => {
    const words = Array.from({ length: 500 }, (_, i) => `w${i} `)
    const seen = run(words.map((word) => eventOf(word)).join("") + eventOf("", { usage: { prompt_tokens: 1, completion_tokens: 500 } }) + "data: [DONE]\n\n", [7_000, 19_001])
    assert.strictEqual(seen.text, words.join(""))
    assert.strictEqual(seen.usage?.output, 500)
  })
})
