/** What single factors of automatic routing say of a candidate. */
import { describe, expect, it } from "vitest"
import type { Moment, Wanted } from "#src/routing/models/candidate.ts"
import { scored } from "#src/routing/auto/factors.ts"
import { packs, type Factor } from "#src/routing/auto/packs.ts"
import { type Spec, worldOf } from "#test/routing/strategies/world.ts"

/** The value of one factor for each candidate, in their order. */
const valuesOf = (factor: Factor, specs: ReadonlyArray<Spec>, change: Partial<Moment> = {}) => {
  const world = worldOf(specs)
  return scored(world.candidates, packs.default, world.moment(change)).toSorted((a, b) => a.candidate.executionKey < b.candidate.executionKey ? -1 : 1)
    .map(({ factors }) => factors[factor])
}
const wanted = (category: Wanted["category"], tier: Wanted["tier"] = null) => ({ wanted: { category, tier } })

describe("the factor", () => {
  const seeing: ReadonlyArray<Spec> = [{ key: "a", capabilities: ["vision"] }, { key: "b", capabilities: [] }, { key: "c" }]

  it("taskFit is the share of what the request and its channel need, one half where that is not known", () => {
    expect(valuesOf("taskFit", seeing)).toEqual([0.5, 0.5, 0.5])
    expect(valuesOf("taskFit", seeing, wanted("vision"))).toEqual([1, 0, 0.5])
    expect(valuesOf("taskFit", seeing, { ...wanted("vision"), needs: { tools: true, vision: false, structuredOutput: false } })).toEqual([0.5, 0, 0.5])
  })

  it("specificityMatch and tierAffinity follow the tags, and what costs nothing is free", () => {
    const tagged: ReadonlyArray<Spec> = [{ key: "a", tags: ["vision", "pro"], price: 1 }, { key: "b", tags: ["coding"], price: 0 }, { key: "c" }]
    expect(valuesOf("specificityMatch", tagged, wanted("vision"))).toEqual([1, 0, 0.5])
    expect(valuesOf("tierAffinity", tagged, wanted(null, "pro"))).toEqual([1, 0, 0])
    expect(valuesOf("tierAffinity", tagged, wanted(null, "free"))).toEqual([0, 1, 0])
    for (const factor of ["specificityMatch", "tierAffinity"] as const) expect(valuesOf(factor, tagged)).toEqual([0.5, 0.5, 0.5])
  })

  it("contextAffinity is 1 where the prompt fits, below one half where it does not, one half where the window is not known", () => {
    const [large, small, unknown] = valuesOf("contextAffinity", [{ key: "a", window: 200_000 }, { key: "b", window: 1_000 }, { key: "c" }], { promptTokens: 10_000 })
    expect([large, unknown]).toEqual([1, 0.5])
    expect(small).toBeGreaterThan(0)
    expect(small).toBeLessThan(0.1)
  })
})
