/** Which rules and filters a target has. */
import { describe, expect, it } from "vitest"
import * as PayloadPlans from "#src/routing/payload/PayloadPlans.ts"

const asked = { names: ["openai", "oa"], model: "gpt-5.4-mini", publicModel: "openai/gpt-5.4-mini", family: "responses", connectionId: "c-1" }
const plansOf = (rules: unknown, filters: Readonly<Record<string, unknown>> = {}) => PayloadPlans.make(new Map([["payloadRules", rules]]), new Map(Object.entries(filters)))
const rule = (params: unknown, name: string, protocol?: string) => ({ models: [{ name, ...protocol === undefined ? {} : { protocol } }], params })
const filters = (change: object) => ({ block: [], allow: [], models: {}, autoLearn: false, ...change })

describe("rules of a target", () => {
  it("are none, and nothing is asked, while nothing is configured or what is stored is not allowed", () => {
    expect([PayloadPlans.make(new Map(), new Map()), plansOf({ override: [] }), plansOf({ override: [rule({ model: "m" }, "*")] }), plansOf("text")]).toEqual([null, null, null, null])
    expect(plansOf({}, { "c-2": filters({ block: ["a"] }), "c-1": { block: ["model"] } })?.(asked)).toEqual({ edits: null, learns: null, transforms: null })
  })

  it.each<readonly [string, string | undefined, boolean]>([
    ["gpt-5.4-mini", undefined, true], ["GPT-5.4-*", undefined, true], ["openai/*", undefined, true], ["*mini", "codex", true], ["*", "responses", true],
    ["gpt-5.4", undefined, false], ["openai", undefined, false], ["*", "openai", false], ["gemini-*", "codex", false]
  ])("%s of %s", (name, protocol, fits) => {
    expect(plansOf({ override: [rule({ a: 1 }, name, protocol)] })?.(asked).edits).toEqual(fits ? [{ kind: "override", path: ["a"], text: "1" }] : null)
  })

  it("are made in their order: defaults, raw defaults, overrides, filters, then those of the connection", () => {
    const rules = { filter: [rule(["d"], "*")], override: [rule({ c: 1 }, "*")], defaultRaw: [rule({ b: "[1.0]", e: 2 }, "*")], default: [rule({ a: "x" }, "*")] }
    expect(plansOf(rules, { "c-1": filters({ block: ["f", "g"], allow: ["g"], autoLearn: true, models: { "gpt-5.4-mini": { block: ["f", "h"], allow: ["i"] }, other: { block: ["j"] } } }) })?.(asked)).toEqual({
      edits: [
        { kind: "default", path: ["a"], text: '"x"' }, { kind: "default", path: ["b"], text: "[1.0]" }, { kind: "default", path: ["e"], text: "2" },
        { kind: "override", path: ["c"], text: "1" }, { kind: "filter", path: ["d"] }, { kind: "filter", path: ["f"] }, { kind: "filter", path: ["h"] }
      ],
      learns: ["g", "i"], transforms: null
    })
  })

  it("are transforms of every provider before those of its own, by any of its names once", () => {
    const block = (text: string) => ({ kind: "append_system_block", text })
    const plans = (providers: unknown) => PayloadPlans.make(new Map([["systemTransforms", { providers }]]), new Map())
    expect(plans({ oa: { pipeline: [block("own")] }, "*": { pipeline: [block("all")] }, other: { pipeline: [block("other")] } })?.(asked).transforms).toEqual([block("all"), block("own")])
    expect(plans({ oa: { pipeline: [block("own")] } })?.({ ...asked, names: ["oa", "oa"] }).transforms).toEqual([block("own")])
    expect(plans({ oa: { enabled: false, pipeline: [block("own")] } })).toBe(null)
    expect(plans({ oa: { pipeline: [{ kind: "inject_billing_header" }] } })).toBe(null)
  })
})
