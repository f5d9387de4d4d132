/** The error event of a stream that passes as it comes, in whatever pieces it arrives. */
import { describe, expect, it } from "vitest"
import { EventErrors } from "#src/wire/oneShot/EventErrors.ts"
import { cpuMs } from "#test/support/late.ts"

const read = (bytes: Buffer, size: number) => {
  const events = new EventErrors()
  let passed = ""
  for (let at = 0; at < bytes.length; at += size) {
    // Borrowed bytes: what is held must be a copy.
    const chunk = Buffer.from(bytes.subarray(at, at + size))
    passed += Buffer.from(events.push(chunk)).toString("latin1")
    chunk.fill(0)
  }
  passed += Buffer.from(events.end()).toString("latin1")
  return { passed, error: events.error?.toString() ?? null }
}
const sizes = [...Array.from({ length: 100 }, (_, n) => n + 1), 399, 400, 401, 100_000]

const picture = `event: image_generation.partial_image\ndata: {"b64_json":"${"A".repeat(300)}"}\n\n`
const said = JSON.stringify({ type: "error", error: { message: "too hot" } })

describe("the error of a stream", () => {
  it.each([
    ["with its name", `event: error\ndata: ${said}\n\n`], ["by its type", `data: ${said}\n\n`], ["as an object alone", `data:{ "error" : {"message":"too hot"}}\n\n`],
    ["with carriage returns", `event: error\r\ndata: ${said}\r\n\r\n`], ["at the very end", `data: ${said}`], ["before more", `event: error\ndata: ${said}\n\ndata: [DONE]\n\n`]
  ])("is found and held back %s, wherever the bytes are cut", (_name, event) => {
    for (const size of sizes) {
      const { error, passed } = read(Buffer.from(picture + event), size)
      expect([size, passed]).toEqual([size, picture])
      expect(JSON.parse(error ?? "")).toMatchObject({ error: { message: "too hot" } })
    }
  })

  it.each([
    ["no error", picture + picture], ["null", `data: {"error":null,"b64_json":"AAAA"}\n\n`], ["a word of a text", `data: {"text":"event: error\\ndata: {\\"error\\":{}}"}\n\n`],
    ["of another name", `event: errors.none\ndata: {"type":"errors"}\n\n`], ["not JSON", `event: error\ndata: sorry\n\n`], ["an open end", "event: err"], ["longer than any", `data: {"error":{"message":"${"x".repeat(20_000)}"}}\n\n`]
  ])("is none where it is %s, and every byte passes", (_name, text) => {
    for (const size of sizes) expect([size, read(Buffer.from(text), size)]).toEqual([size, { passed: text, error: null }])
  })

  it("is looked for in linear time", () => {
    const bytes = Buffer.from(`data: {"b64_json":"${"A".repeat(16_000_000)}"}\n\n`)
    const spent = cpuMs(() => {
      const events = new EventErrors()
      for (let at = 0; at < bytes.length; at += 16_384) events.push(bytes.subarray(at, at + 16_384))
    })
    expect(spent).toBeLessThan(1_000)
  })
})
