import { describe, expect } from "vitest"
import { it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { factorNames, normalized, packNames, packOf, packs, weightsOf } from "#src/routing/auto/packs.ts"

const sum = (weights: Readonly<Record<string, number>>) => Object.values(weights).reduce((total, weight) => total + weight, 0)
const Weight = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1_000 }))

describe("weights", () => {
  it.each(packNames)("of pack %s sum to 1, as printed but for the rounding", (name) => {
    expect(sum(packs[name])).toBeCloseTo(1, 10)
    expect(Object.keys(packs[name])).toEqual([...factorNames])
  })

  it("are those of the table", () => {
    expect(packs.default.health).toBeCloseTo(0.1605, 3)
    expect(packs.default.quality).toBeCloseTo(0.03, 3)
    expect(packs["ship-fast"].latencyInv).toBeCloseTo(0.3048, 3)
    expect(packs["cost-saver"].costInv).toBeCloseTo(0.3524, 3)
    expect(packs["quality-first"].taskFit).toBeCloseTo(0.3524, 3)
    expect(packs["offline-friendly"].quota).toBeCloseTo(0.3524, 3)
    expect(packs["reliability-first"].health).toBeCloseTo(0.3524, 3)
    expect(packs["chaos-mode"].health).toBeCloseTo(0.4, 3)
  })

  it.prop("given by an operator are normalised to sum 1, in their proportions", {
    given: Arbitrary.schema(Schema.Struct({ quota: Weight, health: Weight, costInv: Weight, nonsense: Weight }))
  }, ({ given }) => {
    const made = normalized(given)
    if (given.quota + given.health + given.costInv === 0) return made === null
    expect(sum(made ?? {})).toBeCloseTo(1, 9)
    expect((made?.quota ?? 0) * given.health).toBeCloseTo((made?.health ?? 0) * given.quota, 6)
    expect(made).not.toHaveProperty("nonsense")
    return true
  })

  it("are the pack's when one is named, else the custom ones, else the defaults", () => {
    expect(weightsOf({})).toBe(packs.default)
    expect(weightsOf({ weights: { costInv: 5 } }).costInv).toBe(1)
    expect(weightsOf({ weights: { costInv: 5 }, modePack: "fast" })).toBe(packs["ship-fast"])
    expect(weightsOf({ weights: { nonsense: 5 } })).toBe(packs.default)
    expect(weightsOf({ modePack: "nonsense" })).toBe(packs.default)
  })

  it("have modes beside the names of packs", () => {
    expect(["fast", "balanced", "quality", "cheap", "reliable", "offline", " Ship-Fast ", "constructor", ""].map(packOf))
      .toEqual(["ship-fast", "default", "quality-first", "cost-saver", "reliability-first", "offline-friendly", "ship-fast", null, null])
  })
})
