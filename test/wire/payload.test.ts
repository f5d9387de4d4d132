/** Changes of operators' rules in a body: where a path leads, and that bytes and document say the same. */
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import type { PayloadEdit } from "#actors/request/ports/Target.ts"
import * as BodyPath from "#schemas/words/bodyPath.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import * as Payload from "#src/wire/json/payload.ts"

const pathOf = (path: string): BodyPath.BodyPath => {
  const steps = BodyPath.parse(path)
  if (steps === null) throw new Error(`${path} is no path`)
  return steps
}
const put = (kind: "default" | "override", path: string, text: string): PayloadEdit => ({ kind, path: pathOf(path), text })
const gone = (path: string): PayloadEdit => ({ kind: "filter", path: pathOf(path) })
const said = (body: string, ...edits: ReadonlyArray<PayloadEdit>): string => asBuffer(Payload.apply(edits, Buffer.from(body))).toString("utf8")

describe("a path in a body", () => {
  it.each<readonly [string, BodyPath.BodyPath]>([
    ["temperature", ["temperature"]], ["reasoning.effort", ["reasoning", "effort"]], ["tools.0.name", ["tools", 0, "name"]], ["tools.-1", ["tools", -1]],
    ["logit_bias.:50256", ["logit_bias", "50256"]], ["a\\.b.c", ["a.b", "c"]], ["a\\*", ["a*"]], ["\\0", ["0"]], ["a.01", ["a", "01"]]
  ])("%s", (path, steps) => expect(BodyPath.parse(path)).toEqual(steps))

  it.each(["", ".", "a.", ".a", "a..b", "a\\", "a.*", "a.?", "a.#", "a.#(b==1)", "a|b", "@this", "a.{b}", Array.from({ length: 17 }, () => "a").join(".")])(
    "is not %j", (path) => expect([BodyPath.parse(path), BodyPath.parseRemoved(path)]).toEqual([null, null])
  )

  it.each(["model", "Model", "m\\odel", "stream", "STREAM.x", "stream_options", "stream_options.include_usage"])("is never %s", (path) =>
    expect([BodyPath.parse(path), BodyPath.parseRemoved(path)]).toEqual([null, null]))

  it("behind a list is no place to take from", () => expect([BodyPath.parse("a.-1"), BodyPath.parseRemoved("a.-1")]).toEqual([["a", -1], null]))
})

describe("edits of a body", () => {
  it.each<readonly [string, string, ReadonlyArray<PayloadEdit>, string]>([
    ["put an absent member at the end", '{ "model":"m" , "n":1.0 }', [put("default", "top_p", "0.5")], '{ "model":"m" , "n":1.0,"top_p":0.5 }'],
    ["leave what stands to a default", '{"a":null, "b" : 1.0}', [put("default", "a", "1"), put("default", "b", "2")], '{"a":null, "b" : 1.0}'],
    ["put over what stands", '{"a":{"b":1.0, "c":2}}', [put("override", "a.b", "3")], '{"a":{"b":3, "c":2}}'],
    ["make what is on the way", "{}", [put("override", "a.b.c", '"x"')], '{"a":{"b":{"c":"x"}}}'],
    ["make a list at its beginning or end", "{}", [put("override", "a.0.n", "1"), put("default", "b.-1", "2"), put("override", "c.7", "3")], '{"a":[{"n":1}],"b":[2],"c":{"7":3}}'],
    ["put behind the items of a list", '{"a":[1.0 ]}', [put("override", "a.-1", "2"), put("override", "a.2", "9"), put("override", "a.-1", "4")], '{"a":[1.0,2,9,4 ]}'],
    ["put over an item that an edit before them put", '{"a":[1.0 ]}', [put("override", "a.-1", "2"), put("override", "a.1", "9")], '{"a":[1.0,9 ]}'],
    ["change an item", '{"a":[1,{"b":2.0 }]}', [put("override", "a.1.b", "3")], '{"a":[1,{"b":3 }]}'],
    ["have no effect behind a gap", '{"a":[1.0]}', [put("override", "a.5", "2")], '{"a":[1.0]}'],
    ["have no effect below a text", '{"a":"t","b":[1.0]}', [put("override", "a.b", "2"), put("override", "b.c", "2")], '{"a":"t","b":[1.0]}'],
    ["take the first member", '{"a":1, "b":2.0}', [gone("a")], '{"b":2.0}'],
    ["take the last member with its comma", '{"a":1.0 , "b":2 }', [gone("b")], '{"a":1.0 }'],
    ["take the only member", '{ "a" : 1 }', [gone("a")], "{ }"],
    ["take several in a row", '{"a":1,"b":2,"c":3.0,"d":4,"e":5}', [gone("a"), gone("b"), gone("d"), gone("e")], '{"c":3.0}'],
    ["take items of one list", '{"a":[1,2.0,3,4]}', [gone("a.0"), gone("a.2"), gone("a.3")], '{"a":[2.0]}'],
    ["count what goes after what was put", '{"a":[1.0]}', [put("override", "a.-1", "2"), gone("a.0"), gone("a.1")], '{"a":[]}'],
    ["take what is not there", '{"a":1.0}', [gone("b"), gone("a.c"), gone("d.e")], '{"a":1.0}'],
    ["put where others go", '{"a":1, "b":2}', [gone("a"), gone("b"), put("override", "c", "3")], '{"c":3}'],
    ["know a name that is written with escapes", '{"\\u0061":1.0}', [put("override", "a", "2")], '{"\\u0061":2}'],
    ["write a raw value as it is", "{}", [put("default", "schema", '{"n": 12345678901234567890, "a":1.0}')], '{"schema":{"n": 12345678901234567890, "a":1.0}}'],
    ["work on what an edit before them put", '{"z":1.0}', [put("default", "a", '{"x":1}'), put("override", "a.b", "2"), gone("a.x")], '{"z":1.0,"a":{"b":2}}'],
    ["say the last of two", "{}", [put("override", "a", "1"), put("override", "a", "2")], '{"a":2}'],
    ["say the first of two defaults", "{}", [put("default", "a", "1"), put("default", "a", "2")], '{"a":1}'],
    ["do not tell a number from a name in an object", '{"a":{"0":1}}', [put("override", "a.0", "2"), put("override", "a.:0", "3")], '{"a":{"0":3}}'],
    ["write a body anew that says a name twice", '{"a":{"b":1},"a":{"b":2},"n":1.0}', [put("override", "a.b", "3")], '{"a":{"b":3},"n":1}']
  ])("%s", (_name, body, edits, after) => expect(said(body, ...edits)).toBe(after))

  it("answer the same bytes where nothing changes", () => {
    const body = Buffer.from('{"a":1.0,"b":["x"]}')
    expect(Payload.apply([put("default", "a", "2"), gone("c"), put("override", "b.x", "1")], body)).toBe(body)
  })
})

type Json = null | number | string | ReadonlyArray<Json> | { readonly [name: string]: Json }

/** The same changes on a document, one after another, as the manual says them. */
const byHand = (value: Json | undefined, path: BodyPath.BodyPath, edit: PayloadEdit): Json | undefined => {
  const [step, ...rest] = path
  if (step === undefined) {
    if (edit.kind === "filter") return undefined
    return edit.kind === "default" && value !== undefined ? value : JSON.parse(edit.text) as Json
  }
  if (value === undefined) {
    const below = byHand(undefined, rest, edit)
    return below === undefined ? undefined : step === 0 || step === -1 ? [below] : { [String(step)]: below }
  }
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) {
    const items = value as ReadonlyArray<Json>
    const at = step === -1 ? items.length : step
    if (typeof at !== "number" || at > items.length) return items
    const next = byHand(items[at], rest, edit)
    return [...items.slice(0, at), ...next === undefined ? [] : [next], ...items.slice(at + 1)]
  }
  const { [String(step)]: old, ...others } = value as { readonly [name: string]: Json }
  const next = byHand(old, rest, edit)
  return next === undefined ? others : { ...others, [String(step)]: next }
}

const word = Schema.Literals(["a", "b", "c"])
const Leaf = Schema.Union([Schema.Int, Schema.Null, Schema.String.check(Schema.isMaxLength(6))])
const Inner = Schema.Union([Leaf, Schema.Array(Leaf).check(Schema.isMaxLength(3)), Schema.Record(word, Leaf)])
const Case = Schema.Struct({
  space: Schema.Literals(["", " ", "\n"]),
  body: Schema.Record(word, Schema.Union([Inner, Schema.Array(Inner).check(Schema.isMaxLength(3)), Schema.Record(word, Inner)])),
  edits: Schema.Array(Schema.Struct({
    kind: Schema.Literals(["default", "override", "filter"]), to: Inner, first: word,
    rest: Schema.Array(Schema.Union([word, Schema.Literals([0, 1, -1])])).check(Schema.isMaxLength(2))
  })).check(Schema.isMaxLength(5))
})

it.prop("say in bytes what they say on the document, one after another", [Arbitrary.schema(Case)], ([{ body, edits, space }]) => {
  const all = edits.map(({ first, kind, rest, to }): PayloadEdit =>
    // What goes from a list is counted as it was before: that is written above.
    kind === "filter" ? { kind, path: [first, ...rest.filter((step) => typeof step === "string")] } : { kind, path: [first, ...rest], text: JSON.stringify(to) })
  const read = JSON.parse(JSON.stringify(body)) as Json
  const expected = all.reduce<Json | undefined>((value, edit) => byHand(value, edit.path, edit), read)
  expect(JSON.parse(said(JSON.stringify(body, null, space), ...all))).toEqual(expected)
}, { arbitrary: { runs: 500 } })
