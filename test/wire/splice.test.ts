import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { type Edit, edit, remove } from "#src/wire/json/splice.ts"

const apply = (text: string, edits: ReadonlyArray<Edit>) => {
  const spliced = edit(Buffer.from(text), JSON.parse(text) as Record<string, unknown>, edits)
  return spliced === null ? null : spliced.toString()
}

describe("splice", () => {
  it("replaces the model and keeps every other byte", () => {
    expect(apply('{ "temperature": 1.0, "model" : "sim/echo","x":[1, 2]}', [{ key: "model", value: '"echo"' }]))
      .toBe('{ "temperature": 1.0, "model" : "echo","x":[1, 2]}')
  })

  it("leaves a nested key of the same name alone", () => {
    expect(apply('{"messages":[{"model":"sim/echo"}],"metadata":{"model":"sim/echo"},"model":"sim/echo"}', [{ key: "model", value: '"echo"' }]))
      .toBe('{"messages":[{"model":"sim/echo"}],"metadata":{"model":"sim/echo"},"model":"echo"}')
  })

  it("replaces every top-level occurrence of a repeated key", () => {
    expect(apply('{"model":"a/b","model":"sim/echo"}', [{ key: "model", value: '"echo"' }])).toBe('{"model":"echo","model":"echo"}')
  })

  it("inserts an absent member at the front", () => {
    expect(apply('{"stream":true}', [{ key: "stream_options", value: '{"include_usage":true}' }])).toBe('{"stream_options":{"include_usage":true},"stream":true}')
    expect(apply("{}", [{ key: "a", value: "1" }])).toBe('{"a":1}')
  })

  it("gives up on a key that is written with escapes", () => {
    expect(apply('{"mod\\u0065l":"sim/echo"}', [{ key: "model", value: '"echo"' }])).toBeNull()
  })

  it.each([
    ['{ "limit" : 1.0, "b":{"limit":1}}', '{ "cap":2, "b":{"limit":1}}'], ['{"limit":1,"a":"limit","limit":3}', '{"cap":2,"a":"limit","cap":2}'],
    ['{"a":{"limit":1}}', '{"cap":2,"a":{"limit":1}}'], ['{"lim\\u0069t":1}', '{"cap":2}']
  ])("renames a member: %s becomes %s", (text, left) => {
    expect(apply(text, [{ key: "limit", as: "cap", value: "2" }])).toBe(left)
  })

  it("renames beside other edits, in the order of the bytes", () => {
    expect(apply('{"limit":1,"model":"p/m","x":1.0}', [{ key: "model", value: '"m"' }, { key: "limit", as: "cap", value: "1" }])).toBe('{"cap":1,"model":"m","x":1.0}')
  })

  const json = Schema.Record(Schema.String, Schema.Json)
  it.prop("equals editing the parsed object, for any object and spacing", {
    object: Arbitrary.schema(json), indent: Arbitrary.schema(Schema.Literals([0, 2]))
  }, ({ indent, object }) => {
    const text = JSON.stringify({ ...object, model: "p/m", nested: { model: "p/m", text: 'quote " model' } }, null, indent)
    const edited = apply(text, [{ key: "model", value: '"m"' }, { key: "stream_options", value: "{}" }])
    expect(edited).not.toBeNull()
    expect(JSON.parse(edited as string)).toEqual({ ...JSON.parse(text) as object, model: "m", stream_options: {} })
  })
})

describe("splice: removing a member", () => {
  const removed = (text: string) => remove(Buffer.from(text), "x").toString()

  it.each([
    ['{"x":1}', "{}"], ['{ "x" : [1, "}"] }', "{ }"], ['{"x":1,"a":1.0}', '{"a":1.0}'], ['{"a":1.0 , "x":{"x":2} }', '{"a":1.0 }'],
    ['{"x":1,"a":{"x":2},"x":3,"x":4}', '{"a":{"x":2}}'], ['{"\\u0078":"x","a":"x"}', '{"a":"x"}'], ['{"a":["x",1]}', '{"a":["x",1]}'], ["{}", "{}"]
  ])("%s becomes %s", (text, left) => {
    expect(removed(text)).toBe(left)
  })

  const json = Schema.Record(Schema.String, Schema.Json)
  it.prop("equals deleting it from the parsed object, wherever it stands", {
    before: Arbitrary.schema(json), value: Arbitrary.schema(Schema.Json), after: Arbitrary.schema(json), indent: Arbitrary.schema(Schema.Literals([0, 2]))
  }, ({ after, before, indent, value }) => {
    const object: Record<string, unknown> = { ...before, x: value, ...after, nested: { x: '"x":' } }
    const text = JSON.stringify(object, null, indent)
    delete object["x"]
    expect(JSON.parse(removed(text))).toEqual(JSON.parse(JSON.stringify(object)))
  })
})
