import { describe, expect, it } from "vitest"
import type { BodyRules } from "#schemas/Provider.ts"
import { apply as applyRules } from "#src/providers/bodyRules.ts"

const apply = (rules: BodyRules, body: string): string => Buffer.from(applyRules(rules, Buffer.from(body))).toString("utf8")
const vertex: BodyRules = { add: { anthropic_version: "vertex-2023-10-16" }, drop: ["model"] }

describe("body rules", () => {
  it("drop and add top-level members, and leave every other byte", () => {
    expect(apply(vertex, `{ "model":"m", "n": 12345678901234567890 , "messages":[{"model":"inner","content":"}, \\"model\\":1"}],"z":1.0}`))
      .toBe(`{"anthropic_version":"vertex-2023-10-16","n": 12345678901234567890 ,"messages":[{"model":"inner","content":"}, \\"model\\":1"}],"z":1.0}`)
  })

  it("replace a constant that the client sent, in every spelling of its key and every repetition", () => {
    expect(apply(vertex, `{"anthropic_version":"x","\\u006dodel":"m","a":1,"model":2}`)).toBe(`{"anthropic_version":"vertex-2023-10-16","a":1}`)
  })

  it("work on first, last and only members, and on an empty object", () => {
    expect(apply({ drop: ["a"] }, `{"a":1,"b":2}`)).toBe(`{"b":2}`)
    expect(apply({ drop: ["b"] }, `{"a":1,"b":{"c":[1,"]"]}}`)).toBe(`{"a":1}`)
    expect(apply({ drop: ["a"] }, ` { "a" : [] } `)).toBe("{}")
    expect(apply({ add: { x: { y: 1 } } }, "{}")).toBe(`{"x":{"y":1}}`)
    expect(apply({}, `{"a":1}`)).toBe(`{"a":1}`)
  })

  it("agree with JSON.parse on bodies made at random", () => {
    let seed = 7
    const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below
    const value = (depth: number): unknown => [1.5, null, true, "a\\\"}{][,:é😀", "model"][random(8)] ?? (depth > 3 ? 0
      : random(2) === 0 ? Array.from({ length: random(4) }, () => value(depth + 1))
        : Object.fromEntries(Array.from({ length: random(4) }, (_, i) => [["model", "k\"", "x"][i % 3] ?? "y", value(depth + 1)])))
    for (let i = 0; i < 300; i++) {
      const body = Object.fromEntries(["a", "model", "b\\", "anthropic_version", "c"].filter(() => random(3) > 0).map((key) => [key, value(0)]))
      const text = JSON.stringify(body, null, random(3))
      const { model: _model, ...rest } = body
      expect(JSON.parse(apply(vertex, text))).toEqual({ ...rest, anthropic_version: "vertex-2023-10-16" })
    }
  })

  it("leave what is no object alone", () => {
    for (const body of ["", "[1]", "null", "{\"a\"", "{a:1}"]) expect(apply(vertex, body)).toBe(body)
  })
})
