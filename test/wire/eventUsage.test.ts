/** The use that events name which pass as they come, in whatever pieces they arrive. */
import { describe, expect, it } from "vitest"
import { EventUsage } from "#src/wire/oneShot/EventUsage.ts"
import { OpaqueTap } from "#src/wire/oneShot/OpaqueTap.ts"
import { cpuMs } from "#test/support/late.ts"

const read = (pieces: ReadonlyArray<Buffer>): EventUsage => {
  const found = new EventUsage()
  for (const piece of pieces) found.push(piece)
  return found
}
const every = (bytes: Buffer, size: number): ReadonlyArray<Buffer> => Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size))
const tokens = { input: 50, output: 60, cacheRead: 0, cacheCreation: 0, reasoning: 0 }
const used = { total_tokens: 110, input_tokens: 50, output_tokens: 60, input_tokens_details: { text_tokens: 10, image_tokens: 40 } }
const event = (data: unknown): string => `event: image_generation.completed\ndata: ${JSON.stringify(data)}\n\n`

describe("the use of a stream", () => {
  it.each([
    ["behind a picture", event({ b64_json: "A".repeat(9_000), usage: used })], ["before a picture", event({ usage: used, b64_json: "A".repeat(9_000) })],
    ["with spaces", `data: {"usage" : ${JSON.stringify(used, null, 1).replaceAll("\n", " ")} }\n\n`], ["the newest", event({ usage: { input_tokens: 1 } }) + event({ usage: used })],
    ["after one that says nothing", event({ usage: null }) + event({ usage: used })]
  ])("is found %s, however the bytes are cut", (_name, text) => {
    const bytes = Buffer.from(text)
    for (const size of [1, 2, 3, 7, 8, 64, 1_000, 4_095, 4_096, 4_097, 8_000, bytes.length]) expect([size, read(every(bytes, size)).usage]).toEqual([size, tokens])
  })

  it("may be seconds of sound", () => {
    const bytes = Buffer.from(`data: {"type":"transcript.text.done","text":"a","usage":{"type":"duration","seconds":1.5}}\n\n`)
    for (const size of [1, 5, bytes.length]) expect(read(every(bytes, size))).toMatchObject({ usage: null, units: { second: 1.5 } })
  })

  it.each([
    ["a word of a text", event({ text: "say \"usage\": {\"input_tokens\": 9}" })], ["longer than any", event({ usage: { pad: "x".repeat(5_000), input_tokens: 1 } })],
    ["never closed", "data: {\"usage\":{\"input_tokens\":1,\"more\":{}"]
  ])("is none where it is %s", (_name, text) => {
    const bytes = Buffer.from(text)
    for (const size of [1, 100, bytes.length]) expect([size, read(every(bytes, size))]).toMatchObject([size, { usage: null, units: null }])
  })

  it("is none of sound, whose every byte passes", () => {
    const bytes = Buffer.from(`RIFF"usage":${JSON.stringify(used)}\ndata: {"error":{"message":"no"}}\n\n`)
    for (const size of [1, 100, bytes.length]) {
      const tap = new OpaqueTap(() => null)
      const passed = Buffer.concat([...every(bytes, size).map((piece) => tap.push(piece) ?? Buffer.alloc(0)), tap.end() ?? Buffer.alloc(0)])
      expect([size, tap.usage, tap.units, tap.error, passed.equals(bytes)]).toEqual([size, null, null, null, true])
    }
  })

  it("of a stream with many megabytes is found in linear time", () => {
    const bytes = Buffer.from(event({ b64_json: "A\"".repeat(8_000_000), usage: used }))
    expect(cpuMs(() => expect(read(every(bytes, 65_536)).usage).toEqual(tokens))).toBeLessThan(5_000)
  })
})
