/** Names in the settings of combos: each one names something, or is refused by its field; what a provider may set acts at its targets. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

interface Refused {
  readonly error: { readonly details: ReadonlyArray<{ readonly field: string; readonly message: string }> }
}
let made = 0
const create = (config: Record<string, unknown>) =>
  lab.gateway.operator.raw("POST", "/api/combos", { name: `words ${++made}`, models: [{ id: "first", model: "lab/a" }, { id: "second", model: "lab/b" }], config })
const issuesIn = (reply: { readonly status: number; readonly text: string }) => {
  expect([reply.status, reply.text]).toEqual([400, expect.stringContaining("details")])
  return (JSON.parse(reply.text) as Refused).error.details
}

describe("names in the config of a combo", () => {
  it.each([
    ["routerStrategy", { routerStrategy: "cheapst" }, "rules, score, cost"],
    ["modePack", { modePack: "fastest" }, "ship-fast"],
    ["weights.speed", { weights: { speed: 1, quota: 1 } }, "latencyInv"],
    ["weights", { weights: { quota: 0 } }, "above 0"],
    ["judgeModel", { judgeModel: "labb/judge" }, "labb/judge"],
    ["handoffModel", { handoffModel: "labb/brief" }, "labb/brief"],
    ["candidatePool.1", { candidatePool: ["lab", "labb/a"] }, "labb/a"],
    ["shadowRouting.targets.0", { shadowRouting: { enabled: true, targets: ["labb/a"] } }, "labb/a"],
    ["compositeTiers.defaultTier", { compositeTiers: { defaultTier: "high", tiers: { low: { stepId: "first" } } } }, "tiers has low"],
    ["compositeTiers.tiers.low.stepId", { compositeTiers: { defaultTier: "low", tiers: { low: { stepId: "third" } } } }, "third"],
    ["compositeTiers.tiers.low.fallbackTier", { compositeTiers: { defaultTier: "low", tiers: { low: { stepId: "first", fallbackTier: "high" } } } }, "high"]
  ])("%s that names nothing is refused", async (field, config, told) => {
    expect(issuesIn(await create(config))).toEqual([{ field: `config.${field}`, message: expect.stringContaining(told) as string }])
  })

  it("models, combos, aliases, channels, providers and steps are known", async () => {
    const inner = await lab.gateway.operator.call<{ readonly name: string }>("POST", "/api/combos", { name: "inner words", models: ["lab/a"] })
    await lab.gateway.operator.call("PUT", "/api/models/alias", { alias: "brief", model: "lab/a" })
    for (const config of [
      { judgeModel: inner.name, handoffModel: "brief" },
      { judgeModel: "auto/smart", handoffModel: "", modePack: "", routerStrategy: "eco" },
      { judgeModel: "lab/any", modePack: "quality", weights: { quota: 0, health: 1 } },
      { candidatePool: ["lab", "first", "lab/a"], shadowRouting: { enabled: true, targets: ["lab/c"] } },
      { compositeTiers: { defaultTier: "high", tiers: { high: { stepId: "first", fallbackTier: "low" }, low: { stepId: "second", fallbackTier: null } } } }
    ]) expect(await create(config)).toMatchObject({ status: 201 })
  })

  it("a name that is gone stays, and other fields can still be changed", async () => {
    const { operator } = lab.gateway
    const gone = await operator.createNode({ prefix: "wordsgone", baseUrl: `${lab.sim.url}/v1` })
    const combo = JSON.parse((await create({ judgeModel: "wordsgone/judge" })).text) as { readonly id: string }
    await operator.call("DELETE", `/api/provider-nodes/${gone}`)
    expect((await operator.raw("PUT", `/api/combos/${combo.id}`, { description: "kept" })).status).toBe(200)
    expect((await operator.raw("PUT", `/api/combos/${combo.id}`, { config: { judgeModel: "wordsgone/judge", maxRetries: 2 } })).status).toBe(200)
    expect(issuesIn(await operator.raw("PUT", `/api/combos/${combo.id}`, { config: { judgeModel: "wordsgone/other" } }))).toMatchObject([{ field: "config.judgeModel" }])
  })

  it("steps that leave take their tiers with them, or the change is refused", async () => {
    const { operator } = lab.gateway
    const combo = JSON.parse((await create({ compositeTiers: { defaultTier: "low", tiers: { low: { stepId: "second" } } } })).text) as { readonly id: string }
    expect(issuesIn(await operator.raw("PUT", `/api/combos/${combo.id}`, { models: [{ id: "first", model: "lab/a" }] }))).toMatchObject([{ field: "config.compositeTiers.tiers.low.stepId" }])
    expect((await operator.raw("PUT", `/api/combos/${combo.id}`, { models: [{ id: "first", model: "lab/a" }], config: {} })).status).toBe(200)
  })
})

describe.each([["/api/settings"], ["/api/settings/combo-defaults"]])("PATCH %s", (path) => {
  const patch = (body: Record<string, unknown>) => lab.gateway.operator.raw("PATCH", path, body)

  it("refuses names in comboDefaults that name nothing", async () => {
    expect(issuesIn(await patch({ comboDefaults: { judgeModel: "labb/judge", routerStrategy: "cheapst" } }))).toMatchObject([
      { field: "comboDefaults.routerStrategy" }, { field: "comboDefaults.judgeModel" }
    ])
  })

  it("refuses providers that do not exist, and settings of a combo as a whole", async () => {
    expect(issuesIn(await patch({ providerOverrides: { nonsense: { maxRetries: 1 } } }))).toEqual([
      { field: "providerOverrides.nonsense", message: expect.stringContaining("No provider has the id or prefix 'nonsense'") as string }
    ])
    expect(issuesIn(await patch({ providerOverrides: { lab: { trackMetrics: false, maxRetries: 1 } } }))).toEqual([
      { field: "providerOverrides.lab.trackMetrics", message: expect.stringContaining("set it in comboDefaults") as string }
    ])
    expect(issuesIn(await patch({ providerOverrides: { lab: { maxRetries: 1 }, [lab.node]: { maxRetries: 2 } } }))).toMatchObject([{ message: expect.stringContaining("same provider") as string }])
  })

  it("an override by any name of a provider is shown by its shown name", async () => {
    expect((await patch({ providerOverrides: { [lab.node]: { maxRetries: 1 } } })).status).toBe(200)
    for (const where of ["/api/settings", "/api/settings/combo-defaults"]) {
      expect(await lab.gateway.operator.call("GET", where)).toMatchObject({ providerOverrides: { lab: { maxRetries: 1 } } })
    }
    expect((await patch({ providerOverrides: {} })).status).toBe(200)
  })
})
