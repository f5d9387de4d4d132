import { describe, expect, it } from "vitest"
import * as Pricing from "#src/providers/pricing.ts"
import * as Registry from "#src/providers/Registry.ts"
import { fixture } from "#test/providers/fixture.ts"

const view = (user: Record<string, unknown> = {}, synced: Record<string, unknown> = {}): Pricing.PricingView => ({
  registry: fixture,
  user: new Map(Object.entries(user)),
  synced: new Map(Object.entries(synced))
})

describe("the price of a model", () => {
  it("is the registry's when nobody changed it", () => {
    expect(Pricing.priceOf(view(), "acme", "small")).toEqual({ input: 1, output: 4, cached: 0.1 })
  })

  it("takes user over synced over defaults, field by field", () => {
    const layered = view({ "acme/small": { output: 9 } }, { "acme/small": { input: 2, output: 5 } })
    expect(Pricing.priceOf(layered, "acme", "small")).toEqual({ input: 2, output: 9, cached: 0.1 })
  })

  it("is found by a dated alias, and by a normalized name where the dated one is unknown", () => {
    expect(Pricing.priceOf(view(), "acme", "small-2026-01-01")?.input).toBe(1)
    expect(Pricing.priceOf(view(), "acme", "small-20270101")?.input).toBe(1)
    expect(Pricing.priceOf(view(), "acme", "acme/small@20270101")?.input).toBe(1)
  })

  it("prefers the exact name over the normalized one", () => {
    expect(Pricing.priceOf(view({ "acme/small-20270101": { input: 7 } }), "acme", "small-20270101")).toEqual({ input: 7 })
  })

  it("is null where nobody priced it, also for a provider we do not know", () => {
    expect(Pricing.priceOf(view(), "acme", "free-form")).toBeNull()
    expect(Pricing.priceOf(view(), "nobody", "small")).toBeNull()
    expect(Pricing.priceOf(view(), "acme", "")).toBeNull()
  })

  it("loses the long-context tier of the registry when the operator sets a price of his own", () => {
    expect(Pricing.priceOf(view(), "acme", "long")?.long).toEqual({ above: 200000, input: 4, output: 8 })
    expect(Pricing.priceOf(view({ "acme/long": { input: 3 } }), "acme", "long")).toEqual({ input: 3, output: 4 })
    expect(Pricing.priceOf(view({ "acme/long": { output: 5 } }), "acme", "long")?.long).toBeUndefined()
  })

  it("keeps the long-context tier when the operator prices something else than tokens in and out", () => {
    for (const user of [{ cached: 1 }, { per_request: 0.1 }]) expect(Pricing.priceOf(view({ "acme/long": user }), "acme", "long")).toMatchObject({ ...user, long: { above: 200000, input: 4, output: 8 } })
  })

  it("keeps the factors of service tiers, each from the strongest layer that has it", () => {
    const shipped = { ...view(), registry: Registry.make(fixture.all.map((row) => row.id !== "acme" ? row : {
      ...row, models: row.models.map((model) => model.id === "long" ? { ...model, price: { ...model.price, tiers: { flex: 0.5, priority: 2 } } } : model)
    })) }
    expect(Pricing.priceOf(shipped, "acme", "long")?.tiers).toEqual({ flex: 0.5, priority: 2 })
    const set = { ...shipped, user: new Map([["acme/long", { tiers: { priority: 1.5, flex: -1, odd: 3 } }]]) }
    expect(Pricing.priceOf(set, "acme", "long")).toMatchObject({ long: { above: 200000 }, tiers: { flex: 0.5, priority: 1.5 } })
    expect(Pricing.priceOf({ ...set, user: new Map([["acme/long", { input: 3 }]]) }, "acme", "long")).toEqual({ input: 3, output: 4, tiers: { flex: 0.5, priority: 2 } })
    expect(Pricing.sourceOf(set, "acme", "long")).toBe("user")
  })

  it("ignores fields that are no amount", () => {
    expect(Pricing.priceOf(view({ "acme/free-form": { input: "1", output: -2, cached: Number.NaN } }), "acme", "free-form")).toBeNull()
    expect(Pricing.priceOf(view({ "acme/free-form": null }), "acme", "free-form")).toBeNull()
  })

  it("is remembered by a pricer, misses included", () => {
    const price = Pricing.makePricer(view())
    expect(price("acme", "small")).toBe(price("acme", "small"))
    expect(price("acme", "free-form")).toBeNull()
  })
})

describe("the pricing map (GET /api/pricing)", () => {
  it("holds every priced model by provider, the layers merged", () => {
    const map = Pricing.pricingMap(view({ "acme/free-form": { input: 3 }, "my-node/m/1": { output: 2 } }, { "acme/small": { input: 2 } }))
    expect(map["acme"]).toMatchObject({ small: { input: 2, output: 4 }, "free-form": { input: 3 } })
    expect(map["my-node"]).toEqual({ "m/1": { output: 2 } })
  })

  it("names the strongest layer of each model when sources are asked for", () => {
    const layers = view({ "acme/small": { input: 3 } }, { "acme/small": { input: 2 }, "acme/long": { input: 2 } })
    expect(["small", "long", "vectors"].map((model) => Pricing.sourceOf(layers, "acme", model))).toEqual(["user", "synced", "default"])
  })

  it("gives back the defaults after a change was removed", () => {
    expect(Pricing.pricingMap(view())).toEqual(Pricing.defaults(fixture))
  })
})
