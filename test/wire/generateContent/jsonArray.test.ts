/** A stream of events as one JSON array, whatever the bytes are split at. */
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { JsonArray } from "#src/wire/generateContent/stream/jsonArray.ts"

const written = (chunks: ReadonlyArray<Buffer>): string => {
  const array = new JsonArray()
  const parts = chunks.map((chunk) => array.push(chunk) ?? Buffer.from("too long"))
  return Buffer.concat([...parts, array.end()]).toString("utf8")
}

describe("a stream as an array", () => {
  it("is written item by item, and closed", () => {
    const array = new JsonArray()
    const push = (text: string) => array.push(Buffer.from(text))?.toString("utf8")
    expect(push(": keepalive\n\n")).toBe("\n")
    expect(push('data: {"a":1}\n\n')).toBe('[{"a":1}')
    expect(push('data: {"a":')).toBe("")
    expect(push('2}\r\n\r\ndata: {"a":3}\n\n')).toBe(',\r\n{"a":2},\r\n{"a":3}')
    expect(push("\n\n")).toBe("\n")
    expect(push('data: {"a":4}')).toBe("")
    expect(array.end().toString("utf8")).toBe(',\r\n{"a":4}\r\n]')
  })

  it("without items is empty, and what was cut in its data is no item", () => {
    expect(written([])).toBe("[]")
    expect(written([Buffer.from('data: {"a":')])).toBe("[]")
  })

  const item = Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite, Schema.Null]))
  const noise = Schema.Literals(["", ": ping\n\n", "\n\n", "\r\n\r\n", "event: x\n"])
  const cuts = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40 })))

  it.prop("holds the data of all events, wherever the bytes are split", [Arbitrary.schema(Schema.Array(Schema.Tuple([noise, item]))), Arbitrary.schema(cuts)], ([events, lengths]) => {
    const bytes = Buffer.from(events.map(([before, data]) => `${before}data: ${JSON.stringify(data)}\n\n`).join(""))
    const chunks: Array<Buffer> = []
    for (let at = 0, n = 0; at < bytes.length; n++) {
      const length = lengths[n] ?? 7
      chunks.push(bytes.subarray(at, at + length))
      at += length
    }
    expect(JSON.parse(written(chunks))).toEqual(JSON.parse(JSON.stringify(events.map(([, data]) => data))))
  })
})
