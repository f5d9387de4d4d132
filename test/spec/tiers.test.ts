/** compositeTiers and contextWindowOverride, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answerOf, type Combos, combosOf } from "#test/support/combos.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  lab = await startLab()
  combos = combosOf(lab, "tier")
})
afterAll(() => lab.close())

describe("compositeTiers", () => {
  it("asks the default tier's step first, then along its fallbacks, then the others; a circle ends", async () => {
    const broken = { status: 500, error: { message: "down" } }
    const [other, low, top] = [await combos.place(), await combos.place(broken), await combos.place(broken)]
    const compositeTiers = {
      defaultTier: "top", tiers: { low: { stepId: "s-low", fallbackTier: "top" }, top: { stepId: "s-top", fallbackTier: "low" } }
    }
    const model = await combos.combo("priority", [
      { id: "s-other", model: other.model }, { id: "s-low", model: low.model }, { id: "s-top", model: top.model }
    ], { config: { compositeTiers, maxRetries: 0 } })
    const reply = await lab.chat({ model })
    expect(answerOf(reply)).toBe(other.name)
    expect((await lab.rows(reply)).map((row) => row.model)).toEqual([top.upstream, low.upstream, other.upstream])
  })
})

describe("contextWindowOverride", () => {
  it("is the window of a node's model, and speaks louder than the registry's", async () => {
    const [small, large] = [await combos.place(), await combos.place()]
    const windows = [[small, 4_000], [large, 64_000]] as const
    for (const [{ model, name, upstream }, contextWindowOverride] of windows) {
      await lab.gateway.operator.call("POST", "/api/provider-models", { provider: name, modelId: upstream, contextWindowOverride })
      expect(model).toBe(`${name}/${upstream}`)
    }
    const strict = await combos.combo("priority", [small.model, large.model], { config: { contextRequirements: { minContextWindow: 32_000, contextFilterMode: "strict" } } })
    expect(answerOf(await lab.chat({ model: strict }))).toBe(large.name)
    const fit = await combos.combo("context-optimized", [large.model, small.model])
    expect(answerOf(await lab.chat({ model: fit }))).toBe(small.name)

    await lab.gateway.operator.createConnection({ provider: "openai", apiKey: "sk-windows-000000000002", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
    await lab.gateway.operator.call("PUT", "/api/provider-models", { provider: "openai", modelId: "gpt-4o", contextWindowOverride: 8_000 })
    const own = await combos.combo("priority", ["openai/gpt-4o-2024-08-06", large.model], { config: { contextRequirements: { minContextWindow: 32_000, contextFilterMode: "strict" } } })
    expect(answerOf(await lab.chat({ model: own }))).toBe(large.name)
  })
})
