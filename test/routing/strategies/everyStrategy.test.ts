import { describe, expect } from "vitest"
import { it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { Strategy } from "#schemas/records/Combo.ts"
import type { Memory } from "#src/routing/models/candidate.ts"
import { memoryKey, strategies, type StrategyName } from "#src/routing/strategies/index.ts"
import { Config, keysOf, Pool, poolWorld, seeded } from "#test/routing/strategies/world.ts"

const names = Object.keys(strategies) as ReadonlyArray<StrategyName>
const Seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
const Prompt = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100_000 }))

describe("the table", () => {
  it("has every strategy of the record, and the internal one", () => {
    expect([...names].sort()).toEqual([...Strategy.literals, "quota-share"].sort())
  })

  it("keeps a memory of the whole combo, or of each key in it", () => {
    expect(memoryKey("lkgp", "c", { keyId: "k" })).not.toBe(memoryKey("lkgp", "c", { keyId: "l" }))
    expect(memoryKey("round-robin", "c", { keyId: "k" })).toBe(memoryKey("round-robin", "c", { keyId: null }))
    expect(memoryKey("round-robin", "c", { keyId: "k" })).not.toBe(memoryKey("round-robin", "d", { keyId: "k" }))
  })
})

describe.each(names)("strategy %s", (name) => {
  const logic = strategies[name]

  it.prop("orders or skips every candidate exactly once, request after request", {
    pool: Arbitrary.schema(Pool), config: Arbitrary.schema(Config), seed: Seed, promptTokens: Prompt, tools: Schema.Boolean
  }, ({ config, pool, promptTokens, seed, tools }) => {
    const world = poolWorld(pool)
    const moment = world.moment({
      random: seeded(seed), promptTokens, promptPrefix: "You are", session: "s", needs: { tools, vision: false, structuredOutput: false }
    })
    let memory: Memory = null
    for (let i = 0; i < 4; i++) {
      const made = logic.order(world.candidates, config, memory, moment)
      const everybody = [...keysOf(made.order), ...keysOf(made.skipped.map(({ candidate }) => candidate))]
      expect([...everybody].sort()).toEqual([...keysOf(world.candidates)].sort())
      for (const { executionKey } of made.order) expect(pool[Number(executionKey.slice(1))]?.down).toBe(false)
      for (const { unavailable } of made.skipped) expect(unavailable.detail).not.toBe("")
      const first = made.order[0]
      memory = first === undefined ? made.memory : logic.succeeded(first, config, made.memory, moment)
      expect(JSON.parse(JSON.stringify(memory))).toEqual(memory)
    }
  })

  it.prop("leaves nobody only for a certain reason", { pool: Arbitrary.schema(Pool), config: Arbitrary.schema(Config) }, ({ config, pool }) => {
    const world = poolWorld(pool)
    const soft = { ...config, budgetFallback: "cheapest" as const, contextRequirements: { minContextWindow: 100_000 } }
    const made = logic.order(world.candidates, soft, null, world.moment({ needs: { tools: true, vision: true, structuredOutput: true } }))
    expect(made.order.length > 0).toBe(pool.some(({ down }) => !down))
  })

  it.prop("answers the same for the same random numbers, and changes none of its arguments", {
    pool: Arbitrary.schema(Pool), config: Arbitrary.schema(Config), seed: Seed
  }, ({ config, pool, seed }) => {
    const world = poolWorld(pool)
    const run = () => logic.order(Object.freeze(world.candidates), Object.freeze(config), null, world.moment({ random: seeded(seed), promptPrefix: "x" }))
    expect(run()).toEqual(run())
  })

  it.prop("takes any JSON as its memory", { pool: Arbitrary.schema(Pool), memory: Arbitrary.schema(Schema.Record(Schema.Literals(["step", "uses", "deck", "last", "place", "successes", "exclusions"]), Schema.Json)) }, ({ memory, pool }) => {
    const world = poolWorld(pool)
    const config = { stickyWeightedLimit: 3 }
    const made = logic.order(world.candidates, config, memory, world.moment({ session: "s" }))
    expect(made.order.length + made.skipped.length).toBe(pool.length)
    if (made.order[0] !== undefined) logic.succeeded(made.order[0], config, memory, world.moment({ session: "s" }))
  })
})
