import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Arbitrary from "effect/Arbitrary"
import type { Target } from "#actors/request/ports/Target.ts"
import * as Errors from "#schemas/errors.ts"
import type { Combo, Step } from "#schemas/records/Combo.ts"
import type { Order } from "#src/routing/models/candidate.ts"
import { arrange } from "#src/routing/combos/arrange.ts"
import { makeConfigs } from "#src/routing/combos/config.ts"
import { candidatesOf, excludedOf, expand, identityOf, isGroup, refusedOf, type ExpansionContext } from "#src/routing/combos/expand.ts"
import { byName, newProblem, problems } from "#src/routing/combos/nesting.ts"
import { combo, connection } from "#test/suites/records.ts"

const target = (provider: string, model: string, connectionId: string): Target => ({
  provider, providerAlias: provider, publicModel: `${provider}/${model}`, model, connection: connection({ id: connectionId, provider }),
  wireFormat: "chat-completions", origin: "http://x", path: "/", streamPath: "/", maxOutputTokens: null, reasoning: null, thinking: null,
  headers: [], price: null, streamOptions: true, proxy: null
})

const model = (id: string, asked: string, more: Partial<Step & { kind: "model" }> = {}): Step => ({
  kind: "model", id, model: asked, provider: null, connectionId: null, weight: 0, label: null, tags: [], prompt: null, ...more
})
const ref = (id: string, comboName: string, weight = 0): Step => ({ kind: "combo-ref", id, comboName, weight, label: null })

/** Two connections per provider; provider `none` has no connection. */
const targetsOf: ExpansionContext["targetsOf"] = (modelId, connectionId) => {
  const [provider = "", name = ""] = modelId.split("/")
  const all = [target(provider, name, `${provider}-1`), target(provider, name, `${provider}-2`)]
  const mine = provider === "none" ? [] : all.filter((one) => connectionId === null || one.connection?.id === connectionId)
  return mine.length > 0 ? mine : Errors.make("ALL_ACCOUNTS_INACTIVE", "none")
}

const around = (combos: ReadonlyArray<Combo>, settings: Readonly<Record<string, unknown>> = {}): ExpansionContext => ({
  combos: byName(combos),
  targetsOf,
  factsOf: () => ({ contextWindow: null, capabilities: null }),
  configOf: makeConfigs(new Map(Object.entries(settings))),
  prefixOf: (provider) => provider
})

const keysOf = (of: Combo, combos: ReadonlyArray<Combo>, settings?: Readonly<Record<string, unknown>>) =>
  candidatesOf(expand(of, around(combos, settings))).map((one) => one.executionKey)

describe("expansion", () => {
  it("gives every connection of a step, or the named one, in the listed order", () => {
    const of = combo({ models: [model("s1", "a/x"), model("s2", "b/y", { connectionId: "b-2" }), model("s3", "y", { provider: "c" })] })
    assert.deepStrictEqual(keysOf(of, [of]), ["s1>a-1", "s1>a-2", "s2>b-2", "s3>c-1", "s3>c-2"])
  })

  it("lists a target once, in its first place, but once per step in a pipeline", () => {
    const of = combo({ models: [model("s1", "a/x", { connectionId: "a-2" }), model("s2", "a/x")] })
    assert.deepStrictEqual(keysOf(of, [of]), ["s1>a-2", "s2>a-1"])
    assert.deepStrictEqual(keysOf({ ...of, strategy: "pipeline" }, []), ["s1>a-2", "s2>a-1", "s2>a-2"])
  })

  it("keeps apart ids that hold the joint of a path, and numbers ids that are there twice", () => {
    const inner = combo({ id: "2", name: "inner", models: [model("t", "b/y", { connectionId: "b-1" })] })
    const of = combo({ models: [model("s>t", "a/x", { connectionId: "a-1" }), ref("s", "inner"), model("d", "c/x", { connectionId: "c-1" }), model("d", "c/y", { connectionId: "c-1" })] })
    assert.deepStrictEqual(keysOf(of, [of, inner]), ["s%3Et>a-1", "s>t>b-1", "d>c-1", "d>c-1#2"])
  })

  it("flattens an inner combo in place, under the outer step and its weight", () => {
    const inner = combo({ id: "2", name: "inner", models: [model("i1", "b/y"), model("i2", "a/x")] })
    const of = combo({ models: [model("s1", "a/x", { weight: 1 }), ref("s2", "inner", 7), model("s3", "c/z")] })
    const found = candidatesOf(expand(of, around([of, inner])))
    assert.deepStrictEqual(found.map((one) => one.executionKey), ["s1>a-1", "s1>a-2", "s2>i1>b-1", "s2>i1>b-2", "s3>c-1", "s3>c-2"])
    assert.deepStrictEqual(found.map((one) => [one.stepId, one.weight]), [["s1", 1], ["s1", 1], ["s2", 7], ["s2", 7], ["s3", 0], ["s3", 0]])
  })

  it("keeps an inner combo as a group in mode execute", () => {
    const inner = combo({ id: "2", name: "inner", models: [model("i1", "b/y", { weight: 3 })] })
    const of = combo({ models: [ref("s1", "inner", 7), model("s2", "a/x")], config: { nestedComboMode: "execute" } })
    const [group, ...rest] = expand(of, around([of, inner])).entries
    assert.isTrue(group !== undefined && isGroup(group))
    if (group === undefined || !isGroup(group)) return
    assert.deepStrictEqual([group.executionKey, group.stepId, group.weight, group.expansion.combo.name], ["s1", "s1", 7, "inner"])
    assert.deepStrictEqual(candidatesOf(group.expansion).map((one) => [one.executionKey, one.stepId, one.weight]), [["s1>i1>b-1", "i1", 3], ["s1>i1>b-2", "i1", 3]])
    assert.lengthOf(rest, 2)
  })

  it("says why a step gives nothing: no target, unknown, inactive, too deep, in a circle", () => {
    const loop = combo({ id: "2", name: "loop", models: [ref("l1", "loop")] })
    const off = combo({ id: "3", name: "off", isActive: false, models: [model("o1", "a/x")] })
    const deep = combo({ id: "4", name: "deep", models: [ref("d1", "deeper")] })
    const deeper = combo({ id: "5", name: "deeper", models: [model("e1", "a/x")] })
    const of = combo({ models: [model("s1", "none/x"), ref("s2", "nobody"), ref("s3", "off"), ref("s4", "deep"), ref("s5", "loop")], config: { maxComboDepth: 1 } })
    const found = expand(of, around([of, loop, off, deep, deeper]))
    assert.deepStrictEqual(found.entries, [])
    assert.deepStrictEqual(refusedOf(found).map((one) => one.executionKey), ["s1", "s2", "s3", "s4>d1", "s5>l1"])
    const wide = combo({ ...of, config: {} })
    assert.deepStrictEqual(keysOf(wide, [wide, loop, off, deep, deeper]), ["s4>d1>e1>a-1", "s4>d1>e1>a-2"])
  })

  it("excludes what the combo or an outer one does not allow", () => {
    const inner = combo({ id: "2", name: "inner", models: [model("i1", "b/y"), model("i2", "c/z")], allowedProviders: ["b", "a"] })
    const of = combo({ models: [ref("s1", "inner"), model("s2", "c/z")], allowedProviders: ["b", "c"] })
    const found = expand(of, around([of, inner]))
    assert.deepStrictEqual(candidatesOf(found).map((one) => one.executionKey), ["s1>i1>b-1", "s1>i1>b-2", "s2>c-1", "s2>c-2"])
    assert.deepStrictEqual(found.excluded.map((one) => [one.candidate.executionKey, one.unavailable.reason]), [["s1>i2>c-1", "not-allowed"], ["s1>i2>c-2", "not-allowed"]])
  })

  it("ends in time when references multiply", () => {
    const combos = Array.from({ length: 10 }, (_, n) => combo({
      id: `${n}`, name: `n${n}`, config: { maxComboDepth: 10 },
      models: n === 9 ? [model("m", "a/x")] : Array.from({ length: 200 }, (_unused, k) => ref(`r${k}`, `n${n + 1}`))
    }))
    let asked = 0
    const counting: ExpansionContext = {
      ...around(combos),
      targetsOf: (id, of) => {
        asked++
        return targetsOf(id, of)
      }
    }
    assert.lengthOf(candidatesOf(expand(combos[0] as Combo, counting)), 2)
    assert.isAtMost(asked, 10_000)
    assert.strictEqual(problems(byName(combos), () => 10).size, 0)
  })
})

const RandomStep = Schema.Struct({
  to: Schema.Literals(["a/x", "a/y", "b/x", "none/x", "n0", "n1", "n2", "n3"]),
  id: Schema.Literals(["s", "t", "s>t", "%", "s#2", ""]),
  pinned: Schema.Boolean
})
const RandomCombo = Schema.Struct({
  steps: Schema.Array(RandomStep).check(Schema.isMaxLength(6)),
  execute: Schema.Boolean,
  pipeline: Schema.Boolean,
  depth: Schema.Literals([1, 3, 5])
})

const built = (given: ReadonlyArray<typeof RandomCombo.Type>): ReadonlyArray<Combo> => given.map((one, n) => combo({
  id: `${n}`, name: `n${n}`, strategy: one.pipeline ? "pipeline" : "priority",
  config: { maxComboDepth: one.depth, nestedComboMode: one.execute ? "execute" : "flatten" },
  models: one.steps.map((step) => step.to.startsWith("n") && !step.to.includes("/")
    ? ref(step.id, step.to)
    : model(step.id, step.to, step.pinned ? { connectionId: `${step.to[0]}-2` } : {}))
}))

describe("any combos", () => {
  const combos = Arbitrary.schema(Schema.Array(RandomCombo).check(Schema.isMinLength(1), Schema.isMaxLength(4)))

  it.prop("yield no target twice, unique keys, and the same ones each time", { given: combos }, ({ given }) => {
    const all = built(given)
    const first = all[0] as Combo
    const found = candidatesOf(expand(first, around(all)))
    const keys = found.map((one) => one.executionKey)
    assert.strictEqual(new Set(keys).size, keys.length)
    if (first.strategy !== "pipeline") assert.strictEqual(new Set(found.map((one) => identityOf(one.target))).size, found.length)
    assert.deepStrictEqual(keysOf(first, all), keys)
  })

  it.prop("flattened keep the listed order", { given: combos }, ({ given }) => {
    const all = built(given.map((one) => ({ ...one, execute: false, pipeline: false })))
    const first = all[0] as Combo
    const seen = new Set<string>()
    const listed: Array<string> = []
    const walk = (name: string, depth: number, above: ReadonlyArray<string>): void => {
      for (const step of all.find((one) => one.name === name)?.models ?? []) {
        if (step.kind === "combo-ref") {
          if (!above.includes(step.comboName) && depth < (first.config.maxComboDepth ?? 3)) walk(step.comboName, depth + 1, [...above, step.comboName])
          continue
        }
        const targets = targetsOf(step.model, step.connectionId)
        if (targets instanceof Errors.PublicError) continue
        for (const one of targets) {
          if (!seen.has(identityOf(one))) listed.push(identityOf(one))
          seen.add(identityOf(one))
        }
      }
    }
    walk(first.name, 0, [first.name])
    assert.deepStrictEqual(candidatesOf(expand(first, around(all))).map((one) => identityOf(one.target)), listed)
  })

  it.prop("without a problem of nesting are refused nothing for nesting", { given: combos }, ({ given }) => {
    const all = built(given)
    const surroundings = around(all)
    const bad = problems(surroundings.combos, (one) => surroundings.configOf(one).maxComboDepth)
    for (const one of all) {
      const nesting = refusedOf(expand(one, surroundings)).filter((refused) => /contains itself|nested deeper/.test(refused.error.message))
      assert.strictEqual(nesting.length > 0, bad.has(one.name), `${one.name}: ${bad.get(one.name) ?? "fine"}`)
    }
  })

  it.prop("arranged hold every candidate of groups and none that a strategy left out", { given: combos }, ({ given }) => {
    const all = built(given)
    const expansion = expand(all[0] as Combo, around(all))
    const reversing = (of: Combo, candidates: ReadonlyArray<Order["order"][number]>): Order => ({
      order: candidates.filter((one) => one.target.provider !== "b").reverse(),
      skipped: candidates.filter((one) => one.target.provider === "b").map((candidate) => ({ candidate, unavailable: { reason: "inactive", until: null, detail: of.name } })),
      memory: null
    })
    const { order, skipped } = arrange(expansion, reversing)
    const keys = order.map((one) => one.candidate.executionKey)
    assert.strictEqual(new Set(keys).size, keys.length)
    assert.sameMembers([...keys, ...skipped.map((one) => one.candidate.executionKey)], candidatesOf(expansion).map((one) => one.executionKey))
    for (const placed of order) {
      assert.strictEqual(placed.chain[0]?.combo.name, "n0")
      assert.strictEqual(placed.chain.at(-1)?.candidate, placed.candidate)
    }
  })
})

describe("arranging groups", () => {
  const inner = combo({ id: "2", name: "inner", models: [model("i1", "b/y"), model("i2", "c/z")] })
  const of = combo({ name: "outer", models: [model("s1", "a/x", { connectionId: "a-1" }), ref("s2", "inner", 7)], config: { nestedComboMode: "execute" } })
  const expansion = expand(of, around([of, inner]))

  it("orders the inner combo by itself and shows its best to the outer one", () => {
    const seen: Array<[string, ReadonlyArray<string>]> = []
    const { order } = arrange(expansion, (which, candidates) => {
      seen.push([which.name, candidates.map((one) => `${one.executionKey}@${one.target.publicModel}`)])
      return { order: candidates.toReversed(), skipped: [], memory: null }
    })
    assert.deepStrictEqual(seen, [
      ["inner", ["s2>i1>b-1@b/y", "s2>i1>b-2@b/y", "s2>i2>c-1@c/z", "s2>i2>c-2@c/z"]],
      ["outer", ["s1>a-1@a/x", "s2@c/z"]]
    ])
    assert.deepStrictEqual(order.map((one) => one.candidate.executionKey), ["s2>i2>c-2", "s2>i2>c-1", "s2>i1>b-2", "s2>i1>b-1", "s1>a-1"])
    assert.deepStrictEqual(order[1]?.chain.map((one) => [one.combo.name, one.candidate.executionKey, one.candidate.weight]), [["outer", "s2", 7], ["inner", "s2>i2>c-1", 0]])
  })

  it("leaves a group without anything available out of the draw", () => {
    const picky = expand({ ...of, allowedProviders: ["a"] }, around([of, inner]))
    const excluded = arrange(picky, (_which, candidates) => ({ order: candidates, skipped: [], memory: null }))
    assert.deepStrictEqual(excluded.order.map((one) => one.candidate.executionKey), ["s1>a-1"])
    assert.deepStrictEqual(excluded.skipped.map((one) => one.candidate.executionKey), excludedOf(picky).map((one) => one.candidate.executionKey))
    assert.lengthOf(excluded.skipped, 4)
    const { order, skipped } = arrange(expansion, (which, candidates) => which.name === "inner"
      ? { order: [], skipped: candidates.map((candidate) => ({ candidate, unavailable: { reason: "inactive", until: null, detail: "" } })), memory: null }
      : { order: candidates, skipped: [], memory: null })
    assert.deepStrictEqual(order.map((one) => one.candidate.executionKey), ["s1>a-1"])
    assert.lengthOf(skipped, 4)
  })
})

describe("nesting", () => {
  it("holds a change against itself and against what it breaks, not against what was broken before", () => {
    const broken = combo({ id: "9", name: "broken", models: [ref("s", "broken")] })
    const leaf = combo({ id: "1", name: "leaf" })
    const top = combo({ id: "2", name: "top", models: [ref("s", "leaf")] })
    const before = byName([broken, leaf, top])
    assert.isNull(newProblem(before, byName([broken, leaf, top, combo({ id: "3", name: "new" })]), "new", () => 1))
    const deeper = byName([broken, { ...leaf, models: [ref("s", "x")] }, top, combo({ id: "4", name: "x" })])
    assert.include(newProblem(before, deeper, "leaf", () => 1) ?? "", "'top'")
    assert.isNull(newProblem(before, deeper, "leaf", () => 2))
  })
})
