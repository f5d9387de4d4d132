/** The data of events, as messages of a socket carry it. */
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as EventData from "#src/wire/eventData.ts"

const read = (chunk: Buffer) => {
  const taken: Array<string> = []
  const scanner = EventData.scanner((data) => taken.push(data.toString()))
  scanner.push(chunk)
  const { held } = scanner
  scanner.close()
  return { taken, held }
}

const usual = (chunk: Buffer): string | null => {
  const end = EventData.endOfUsual(chunk)
  return end === -1 ? null : chunk.toString("utf8", EventData.DATA_START, end)
}

describe("the scanner", () => {
  it.each(["\n\n", ": x\n\n", "event: a\n\n", "id\n\n", "\r\n\r\n"])("takes no data of a short event behind another one: %j", (short) => {
    expect(read(Buffer.from(`data: {"a":1}\n\n${short}`))).toEqual({ taken: ['{"a":1}'], held: 0 })
  })
})

describe("a chunk that is one usual event", () => {
  it("is read without a scanner", () => {
    expect(usual(Buffer.from('data: {"a":"\\n \u00e4"}\n\n'))).toBe('{"a":"\\n \u00e4"}')
  })

  it.each(['data: [DONE]\n\n', 'data:{"a":1}\n\n', 'event: a\ndata: {"a":1}\n\n', 'data: {"a":1}\r\n\r\n', 'data: {"a":1}\r\n\n', 'data: {"a":1}\n', 'data: {"a":1}', 'data: {"a":1}\n\ndata: {"a":2}\n\n', "data: {\ndata: }\n\n", ": ping\n\n", "\n\n", "", "data: {"])("is none: %j", (text) => {
    expect(usual(Buffer.from(text))).toBeNull()
  })

  const pieces = Schema.Array(Schema.Literals(["data: ", "data:", "{", '{"a":1}', "}", "[DONE]", "\n", "\n\n", "\r", "\r\n", "event: a", ": x", " ", "\u00e4"]))
  it.prop("tells what a scanner tells, whatever it is made of", { start: Arbitrary.schema(Schema.Literals(["", "data: {", "data: {\"a\":"])), pieces: Arbitrary.schema(pieces), end: Arbitrary.schema(Schema.Literals(["", "\n", "\n\n"])) }, ({ end, pieces: middle, start }) => {
    const chunk = Buffer.from([start, ...middle, end].join(""))
    const told = usual(chunk)
    if (told !== null) expect(read(chunk)).toEqual({ taken: [told], held: 0 })
  }, { arbitrary: { runs: 2_000 } })
})
