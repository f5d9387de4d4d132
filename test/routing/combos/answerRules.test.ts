/** responseValidation as a pure check, and the JSONPath subset it reads documents with. */
import { assert, describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import type { AnswerView } from "#actors/request/ports/AnswerCheck.ts"
import * as JsonPath from "#schemas/jsonPath.ts"
import { checkOf } from "#src/routing/combos/answerRules.ts"

const view = (content: string, document: unknown = {}, more: Partial<AnswerView> = {}): AnswerView =>
  ({ content, calls: false, empty: content === "", document: () => document, ...more })

describe("rules of an answer", () => {
  it("without rules only an empty answer is refused, and streams are not held", () => {
    const check = checkOf(undefined)
    expect([check.holds, check.broken(view("")), check.broken(view("x"))]).toEqual([false, "notEmpty", null])
    expect(checkOf({ forbiddenSubstrings: [], minContentLength: 0 })).toBe(check)
  })

  it("the first broken rule is named by its place", () => {
    const check = checkOf({
      forbiddenSubstrings: ["a", "b"], requiredSubstrings: ["c"], minContentLength: 3,
      jsonPathPredicates: [{ path: "$.n", condition: "equals", value: 1 }]
    })
    expect(["xb", "x", "c", "ccc"].map((content) => check.broken(view(content)))).toEqual(
      ["forbiddenSubstrings[1]", "requiredSubstrings[0]", "minContentLength", "jsonPathPredicates[0]"])
    expect(check.broken(view("ccc", { n: 1 }))).toBeNull()
  })

  it("an answer that only calls tools owes no text, one that also says something does, and with rules streams are held", () => {
    const check = checkOf({ requiredSubstrings: ["done"], minContentLength: 5, forbiddenSubstrings: ["sorry"] })
    const calling = (content: string) => check.broken(view(content, {}, { calls: true, empty: false }))
    expect(["", "ok", "done", "done!", "sorry, done"].map(calling)).toEqual([null, "requiredSubstrings[0]", "minContentLength", null, "forbiddenSubstrings[0]"])
    expect(check.holds).toBe(true)
  })

  it("a path leads to a value that exists, is not empty, is equal or is not", () => {
    const broken = (condition: "exists" | "nonEmpty" | "equals" | "notEquals", document: unknown, value?: Schema.Json) =>
      checkOf({ jsonPathPredicates: [{ path: "$.a", condition, ...(value === undefined ? {} : { value }) }] }).broken(view("x", document)) !== null
    expect([{}, { a: null }, { a: 0 }].map((document) => broken("exists", document))).toEqual([true, false, false])
    expect([{}, { a: null }, { a: "" }, { a: [] }, { a: {} }, { a: 0 }, { a: false }].map((document) => broken("nonEmpty", document)))
      .toEqual([true, true, true, true, true, false, false])
    expect([{}, { a: [1, { b: 2 }] }].map((document) => broken("equals", document, [1, { b: 2 }]))).toEqual([true, false])
    expect([{}, { a: 1 }, { a: 2 }].map((document) => broken("notEquals", document, 1))).toEqual([false, true, false])
  })

  const text = Schema.String.check(Schema.isMaxLength(12))
  it.prop("what is forbidden never passes, what is required always stands in it", {
    content: Arbitrary.schema(text), forbidden: Arbitrary.schema(text), required: Arbitrary.schema(text)
  }, ({ content, forbidden, required }) => {
    const passes = checkOf({ forbiddenSubstrings: [forbidden], requiredSubstrings: [required] }).broken(view(content)) === null
    assert.strictEqual(passes, !content.includes(forbidden) && content.includes(required) && content !== "")
  })
})

describe("paths", () => {
  it("reads names, quoted names and indices", () => {
    const document = { a: { b: [{ "c d": 1, "e'f": 2, "g\\": 3 }] } }
    expect(["$.a.b[0]['c d']", `$['a']["b"][0]["e'f"]`, "$.a.b[0]['e\\'f']", "$.a.b[0]['g\\\\']"].map((path) => JsonPath.read(document, JsonPath.parse(path) ?? ["no path"])))
      .toEqual([1, 2, 2, 3])
    expect(JsonPath.read(document, JsonPath.parse("$") ?? ["no path"])).toBe(document)
  })

  it("what is no path of this form is none", () => {
    for (const path of ["", "a", "$a", "$.", "$..a", "$.a.", "$[", "$[]", "$[-1]", "$[01]", "$[1.5]", "$.*", "$[*]", "$[?(@.a)]", "$['a", "$.a b", "$.a'b", " $"]) {
      expect(JsonPath.parse(path), path).toBeNull()
    }
  })

  it("never leaves the document: inherited members, lengths and indices of objects are nothing", () => {
    for (const path of ["$.constructor", "$.__proto__", "$.list.length", "$.list['0']", "$.text[0]", "$.object[0]"]) {
      expect(JsonPath.read({ list: [1], text: "x", object: { 0: 1 } }, JsonPath.parse(path) ?? []), path).toBeUndefined()
    }
  })

  const name = Schema.String.check(Schema.isMaxLength(8))
  const index = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))
  const steps = Schema.Array(Schema.Union([name, index])).check(Schema.isMaxLength(5))
  const quote = (step: string | number): string => typeof step === "number" ? `[${step}]` : `['${step.replace(/['\\]/g, (c) => `\\${c}`)}']`
  it.prop("every place that is written is found again, and holds its value", { path: Arbitrary.schema(steps), value: Arbitrary.schema(Schema.Json) }, ({ path, value }) => {
    assert.deepStrictEqual(JsonPath.parse(`$${path.map(quote).join("")}`), path)
    const document = path.reduceRight<unknown>(
      (inner, step) => typeof step === "number" ? [...Array.from({ length: step }, () => null), inner] : Object.fromEntries([[step, inner]]), value)
    assert.isTrue(JsonPath.isEqual(JsonPath.read(document, path), value))
  })

  it.prop("any text is a path or none, and reading by it never throws", { text: Arbitrary.schema(Schema.String), document: Arbitrary.schema(Schema.Json) }, ({ document, text }) => {
    for (const one of [text, `$${text}`]) JsonPath.read(document, JsonPath.parse(one) ?? [])
  })

  it.prop("equality is that of JSON", { a: Arbitrary.schema(Schema.Json), b: Arbitrary.schema(Schema.Json) }, ({ a, b }) => {
    assert.isTrue(JsonPath.isEqual(a, JSON.parse(JSON.stringify(a))))
    assert.strictEqual(JsonPath.isEqual(a, b), JsonPath.isEqual(b, a))
  })
})
