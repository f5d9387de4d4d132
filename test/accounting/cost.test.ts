import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import type { Price } from "#schemas/Provider.ts"
import * as Cost from "#src/platform/accounting/cost.ts"

const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000_000 }))
/** Prices with up to six decimals, as micro-USD per million tokens. */
const Micro = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 600_000_000 }))
const Tokens = Schema.Struct({ tokensIn: Count, tokensOut: Count, tokensCacheRead: Count, tokensCacheCreation: Count, tokensReasoning: Count })
const MicroPrice = Schema.Struct({ input: Micro, output: Micro, cached: Micro, reasoning: Micro, cache_creation: Micro })

const usd = (micro: typeof MicroPrice.Type): Price => ({
  input: micro.input / 1e6, output: micro.output / 1e6, cached: micro.cached / 1e6, reasoning: micro.reasoning / 1e6, cache_creation: micro.cache_creation / 1e6
})

/** The formula in whole numbers from the start: tokens x micro-USD per million tokens = pico-USD. */
const reference = (tokens: typeof Tokens.Type, micro: typeof MicroPrice.Type): bigint => {
  const n = (value: number) => BigInt(value)
  const atLeast0 = (value: bigint) => value < 0n ? 0n : value
  return atLeast0(n(tokens.tokensIn) - n(tokens.tokensCacheRead) - n(tokens.tokensCacheCreation)) * n(micro.input)
    + n(tokens.tokensCacheRead) * n(micro.cached)
    + n(tokens.tokensCacheCreation) * n(micro.cache_creation)
    + atLeast0(n(tokens.tokensOut) - n(tokens.tokensReasoning)) * n(micro.output)
    + n(tokens.tokensReasoning) * n(micro.reasoning)
}

const none = { tokensIn: 0, tokensOut: 0, tokensCacheRead: 0, tokensCacheCreation: 0, tokensReasoning: 0 }

describe("cost", () => {
  it.prop("is the formula in whole numbers, rounded once to ten decimals", [Tokens, MicroPrice], ([tokens, micro]) => {
    const pico = reference(tokens, micro)
    const units = (pico + 50n) / 100n
    const digits = units.toString().padStart(11, "0")
    assert.strictEqual(Cost.formatCost(Cost.cost(tokens, usd(micro))), `${digits.slice(0, -10)}.${digits.slice(-10)}`)
  }, { arbitrary: { runs: 500 } })

  it.prop("is the sum of its parts", [Tokens, MicroPrice], ([tokens, micro]) => {
    const parts = Cost.parts(tokens, usd(micro))
    assert.strictEqual(parts.input + parts.cacheRead + parts.cacheCreation + parts.output + parts.reasoning, reference(tokens, micro))
    for (const part of Object.values(parts)) assert.isTrue(part >= 0n)
  })

  it.prop("is never negative, NaN or infinite, whatever an upstream reports", [
    Schema.Struct({ tokensIn: Schema.Number, tokensOut: Schema.Number, tokensCacheRead: Schema.Number, tokensCacheCreation: Schema.Number, tokensReasoning: Schema.Number }),
    Schema.Struct({ input: Schema.Number, output: Schema.Number, cached: Schema.Number, reasoning: Schema.Number, cache_creation: Schema.Number })
  ], ([tokens, price]) => {
    const cost = Cost.cost(tokens, price)
    assert.isTrue(Number.isFinite(cost) && cost >= 0)
  }, { arbitrary: { runs: 500 } })

  it.prop("does not fall when input or output grow", [Tokens, MicroPrice, Count], ([tokens, micro, more]) => {
    const price = usd(micro)
    const base = Cost.cost(tokens, price)
    assert.isAtLeast(Cost.cost({ ...tokens, tokensIn: tokens.tokensIn + more }, price), base)
    assert.isAtLeast(Cost.cost({ ...tokens, tokensOut: tokens.tokensOut + more }, price), base)
  })

  it.prop("rows add up exactly, in any order", [Schema.Array(Tokens), MicroPrice], ([rows, micro]) => {
    const costs = rows.map((tokens) => Cost.cost(tokens, usd(micro)))
    const units = costs.reduce((sum, cost) => sum + BigInt(Cost.toUnits(cost)), 0n)
    assert.strictEqual(Cost.formatCost(Cost.sum(costs)), Cost.formatCost(Cost.sum(costs.toReversed())))
    if (units < BigInt(Number.MAX_SAFE_INTEGER)) assert.strictEqual(BigInt(Cost.toUnits(Cost.sum(costs))), units)
  })

  it("prices reasoning once, at its own price", () => {
    const tokens = { ...none, tokensOut: 100, tokensReasoning: 40 }
    const price = { output: 10, reasoning: 20 }
    assert.strictEqual(Cost.formatCost(Cost.cost(tokens, price)), "0.0014000000")
  })

  it("takes the input price for absent cache prices and the output price for absent reasoning", () => {
    const tokens = { ...none, tokensIn: 1000, tokensCacheRead: 100, tokensCacheCreation: 100, tokensOut: 10, tokensReasoning: 5 }
    assert.strictEqual(Cost.cost(tokens, { input: 2, output: 8 }), Cost.cost(tokens, { input: 2, output: 8, cached: 2, cache_creation: 2, reasoning: 8 }))
    assert.strictEqual(Cost.cost(tokens, null), 0)
    assert.strictEqual(Cost.cost(tokens, {}), 0)
  })

  it("takes the price of an hour for what is kept so long, of all that was written", () => {
    const price: Price = { input: 4, cache_creation: 5, cache_creation_1h: 8, tiers: { flex: 0.5 } }
    const tokens = { ...none, tokensIn: 1_000, tokensCacheCreation: 600, tokensCacheCreationHour: 400 }
    assert.strictEqual(Cost.cost(tokens, price), 0.0058)
    assert.strictEqual(Cost.cost({ ...tokens, tier: "flex" }, price), 0.0029)
    assert.strictEqual(Cost.cost(tokens, { input: 4, cache_creation: 5 }), 0.0046)
    assert.strictEqual(Cost.cost({ ...tokens, tokensCacheCreationHour: 900 }, price), 0.0064)
    const parts = Cost.parts(tokens, price)
    assert.strictEqual(parts.cacheCreation, 4_200_000_000n)
  })

  it("takes the long-context tier above its threshold only", () => {
    const price: Price = { input: 1, output: 2, cached: 0.5, reasoning: 3, long: { above: 1000, input: 2, output: 4 } }
    assert.strictEqual(Cost.cost({ ...none, tokensIn: 1000 }, price), 0.001)
    assert.strictEqual(Cost.cost({ ...none, tokensIn: 1001 }, price), 0.002002)
    assert.strictEqual(Cost.cost({ ...none, tokensIn: 2000, tokensOut: 100, tokensReasoning: 100, tokensCacheRead: 1000 }, price), 0.0029)
  })

  it.prop("of a service tier is its factor times the standard one, for every price", [Tokens, MicroPrice, Schema.Literals(["flex", "priority"])], ([tokens, micro, tier]) => {
    const tiers = { flex: 0.5, priority: 2 }
    const halved = { input: micro.input / 2, output: micro.output / 2, cached: micro.cached / 2, reasoning: micro.reasoning / 2, cache_creation: micro.cache_creation / 2 }
    const doubled = { input: micro.input * 2, output: micro.output * 2, cached: micro.cached * 2, reasoning: micro.reasoning * 2, cache_creation: micro.cache_creation * 2 }
    const priced = { ...usd(micro), tiers }
    assert.strictEqual(Cost.cost({ ...tokens, tier }, priced), Cost.cost(tokens, usd(tier === "flex" ? halved : doubled)))
    assert.strictEqual(Cost.cost(tokens, priced), Cost.cost(tokens, usd(micro)))
  })

  it("of a service tier holds for long prompts, not for units, and is the standard one where the tier has no factor", () => {
    const price: Price = { input: 1, output: 2, per_image: 0.5, long: { above: 1000, input: 2, output: 4 }, tiers: { flex: 0.5 } }
    assert.strictEqual(Cost.cost({ ...none, tokensIn: 1000, tier: "flex" }, price), 0.0005)
    assert.strictEqual(Cost.cost({ ...none, tokensIn: 2000, tokensOut: 100, tier: "flex" }, price), 0.0022)
    assert.strictEqual(Cost.cost({ ...none, tokensIn: 1000, tier: "priority" }, price), 0.001)
    assert.strictEqual(Cost.cost({ ...none, tier: "flex" }, price, { image: 1 }), 0.5)
  })

  it("adds units to tokens, at the price of each unit", () => {
    const units = { image: 2, second: 1.5, character: 1_000, page: 3, search_unit: 4, query: 5, document: 6, request: 1 }
    const price: Price = {
      input: 1, per_image: 0.04, per_second: 0.0001, per_character: 0.000015, per_page: 0.002, per_search_unit: 0.001, per_query: 0.005,
      per_document: 0.00001, per_request: 0.01
    }
    const each = { image: 0.08, second: 0.00015, character: 0.015, page: 0.006, search_unit: 0.004, query: 0.025, document: 0.00006, request: 0.01 }
    for (const [name, usd] of Object.entries(each)) {
      assert.strictEqual(Cost.cost(none, price, { [name]: units[name as keyof typeof units] }), usd)
    }
    assert.strictEqual(Cost.formatCost(Cost.cost({ ...none, tokensIn: 1_000 }, price, units)), Cost.formatCost(Cost.sum([0.001, ...Object.values(each)])))
    assert.strictEqual(Cost.cost(none, { per_image: 1 }, { page: 3 }), 0)
    assert.strictEqual(Cost.cost(none, null, units), 0)
  })

  it.prop("is never negative, NaN or infinite, whatever units an upstream reports", [Schema.Number, Schema.Number, Tokens], ([amount, price, tokens]) => {
    const cost = Cost.cost(tokens, { input: 1, per_image: price }, { image: amount })
    assert.isTrue(Number.isFinite(cost) && cost >= 0)
  }, { arbitrary: { runs: 500 } })

  it("never writes an exponent", () => {
    assert.strictEqual(Cost.formatCost(1e-10), "0.0000000001")
    assert.strictEqual(Cost.formatCost(0), "0.0000000000")
    assert.strictEqual(Cost.formatCost(123456.789), "123456.7890000000")
    assert.strictEqual(Cost.formatCost(Number.NaN), "0.0000000000")
    assert.strictEqual(Cost.formatCost(0.1 + 0.2), "0.3000000000")
  })
})
