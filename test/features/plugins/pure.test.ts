/** Configurations by their schemas, and what hooks may say: whatever is given. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Config from "#src/features/plugins/config.ts"
import * as Answers from "#src/features/plugins/hooks/answers.ts"
import * as Integrity from "#src/features/plugins/integrity.ts"

const Name = Schema.Literals(["a", "b", "toString", "constructor", "valueOf"])
const Value = Schema.Union([Schema.Literals(["x", "y", "", 0, 1, 7, true]), Schema.Null, Schema.Boolean])
const Field = Schema.Struct({
  type: Schema.Literals(["string", "number", "boolean", "select"]),
  default: Schema.optionalKey(Value),
  min: Schema.optionalKey(Schema.Literals([0, 1])),
  max: Schema.optionalKey(Schema.Literals([0, 5])),
  enum: Schema.optionalKey(Schema.Array(Schema.Literals(["x", "y", 1])))
})
const documentOf = <A>(pairs: ReadonlyArray<readonly [string, A]>): Record<string, A> => Object.fromEntries(pairs)

describe("a configuration", () => {
  it.prop("is either refused by fields that were given, or keeps all of them, has the defaults, and is taken again as it is", [
    Arbitrary.schema(Schema.Array(Schema.Tuple([Name, Field]))), Arbitrary.schema(Schema.Array(Schema.Tuple([Name, Value])))
  ], ([fields, values]) => {
    const [schema, given] = [documentOf<typeof Field.Type>(fields), documentOf<typeof Value.Type>(values)]
    if (Config.problemsOf(schema).length > 0) return
    const checked = Config.checked(schema, given)
    if (Result.isFailure(checked)) {
      for (const { field } of checked.failure) assert.isTrue(Object.hasOwn(given, field.slice("config.".length)), field)
      return
    }
    const config = checked.success
    for (const [name, value] of Object.entries(given)) assert.strictEqual(config[name], value)
    for (const [name, value] of Object.entries(config)) {
      assert.isTrue(Object.hasOwn(schema, name))
      if (!Object.hasOwn(given, name)) assert.strictEqual(value, schema[name]?.default)
    }
    for (const [name, field] of Object.entries(schema)) assert.strictEqual(Object.hasOwn(config, name), Object.hasOwn(given, name) || field.default !== undefined)
    assert.deepStrictEqual(Config.checked(schema, config), Result.succeed(config))
  }, { arbitrary: { runs: 1_000 } })

  it("takes the kinds of values that its fields name", () => {
    const schema = { n: { type: "number", min: 1, max: 5 }, t: { type: "string", max: 3, enum: ["ab", "abc"] }, b: { type: "boolean" }, s: { type: "select", enum: ["x", 2] } } as const
    const issues = (given: Record<string, Schema.Json>) => Result.match(Config.checked(schema, given), { onFailure: (all) => all.map(({ field, message }) => `${field}: ${message}`), onSuccess: () => [] })
    assert.deepStrictEqual(issues({ n: 1, t: "abc", b: false, s: 2 }), [])
    assert.deepStrictEqual(issues({ n: 0, t: "abcd", b: 0, s: "2", __proto__x: 1 }), [
      "config.n: Expected a number from 1 up to 5", "config.t: Expected a length up to 3", "config.b: Expected true or false", 'config.s: Expected one of "x", 2',
      "config.__proto__x: The plugin has no such field"
    ])
    assert.deepStrictEqual(issues({ t: "a" }), ['config.t: Expected one of "ab", "abc"'])
    assert.deepStrictEqual(issues(JSON.parse('{"__proto__": 1}') as Record<string, Schema.Json>), ["config.__proto__: The plugin has no such field"])
  })
})

describe("what a hook says", () => {
  const said = (json: string, hook: "onRequest" | "onResponse" = "onRequest") => Answers.read(hook, { _tag: "Output", json }, 50)

  it("counts in one of three forms alone", () => {
    for (const json of ["null", "{}"]) assert.deepStrictEqual(said(json), Answers.passed)
    assert.deepStrictEqual(said('{"body":{"a":1}}'), { _tag: "Changed", body: { a: 1 } })
    assert.deepStrictEqual(said('{"refuse":{"message":"no"}}'), { _tag: "Refused", status: 403, message: "no" })
    assert.deepStrictEqual(said('{"refuse":{"message":"no","status":499}}'), { _tag: "Refused", status: 499, message: "no" })
    for (const json of [
      "1", "[]", '"x"', "{", '{"body":[]}', '{"body":null}', '{"refuse":{}}', '{"refuse":{"message":"no","status":200}}', '{"refuse":{"message":"no","status":450.5}}',
      '{"body":{},"refuse":{"message":"no"}}', '{"toString":1}', '{"__proto__":{"body":{}}}', "[".repeat(100_000)
    ]) assert.strictEqual(said(json)._tag, "Failed", json.slice(0, 50))
    assert.strictEqual(said('{"refuse":{"message":"no"}}', "onResponse")._tag, "Failed")
    assert.deepStrictEqual(Answers.read("onRequest", { _tag: "TimedOut" }, 50), Answers.failed("it did not answer within 50 ms"))
  })
})

describe("a hash", () => {
  it("fits in each of its spellings", () => {
    const hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    for (const expected of [Integrity.of("abc"), "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=", hex, `sha256:${hex}`, hex.toUpperCase()]) assert.isTrue(Integrity.fits("abc", expected), expected)
    for (const expected of [Integrity.of("abd"), hex.replace("b", "c"), ""]) assert.isFalse(Integrity.fits("abc", expected), expected)
  })
})
