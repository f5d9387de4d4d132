import { describe, expect } from "vitest"
import { it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { p2c, random, weighted } from "#src/routing/strategies/chance.ts"
import { roundRobin, strictRandom } from "#src/routing/strategies/rotation.ts"
import type { Candidate, Memory } from "#src/routing/models/candidate.ts"
import { chiSquare, counted, firstOf, keysOf, seeded, served, worldOf } from "#test/routing/strategies/world.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const Seed = between(0, 1_000_000)

/** Far above the 99.9 % quantile for 3 degrees of freedom (16.3): a wrong weight is in the hundreds. */
const chiGuard = 30

describe("weighted", () => {
  it.prop("draws in proportion to the weights", { seed: Seed }, ({ seed }) => {
    const world = worldOf([{ key: "a", weight: 50 }, { key: "b", weight: 30 }, { key: "c", weight: 15 }, { key: "d", weight: 5 }])
    const counts = counted(served(weighted, world, {}, 2_000, world.moment({ random: seeded(seed) })))
    expect(chiSquare(["a", "b", "c", "d"].map((key) => counts[key] ?? 0), [1_000, 600, 300, 100])).toBeLessThan(chiGuard)
  })

  it("draws alike when all weights are 0", () => {
    const world = worldOf([{ key: "a" }, { key: "b" }, { key: "c" }, { key: "d" }])
    const counts = counted(served(weighted, world, {}, 4_000))
    expect(chiSquare(["a", "b", "c", "d"].map((key) => counts[key] ?? 0), [1_000, 1_000, 1_000, 1_000])).toBeLessThan(chiGuard)
  })

  it.prop("never draws weight 0 beside a greater one, and has the rest by descending weight", { seed: Seed }, ({ seed }) => {
    const world = worldOf([{ key: "zero" }, { key: "one", weight: 1 }, { key: "three", weight: 3 }, { key: "two", weight: 2 }])
    const keys = keysOf(weighted.order(world.candidates, {}, null, world.moment({ random: seeded(seed) })).order)
    expect(keys[0]).not.toBe("zero")
    expect(keys.slice(1)).toEqual(["three", "two", "one", "zero"].filter((key) => key !== keys[0]))
  })

  it("draws weight 0 when the weighted ones are away, since they leave before the draw", () => {
    const world = worldOf([{ key: "zero" }, { key: "one", weight: 1, down: true }])
    expect(keysOf(weighted.order(world.candidates, {}, null, world.moment()).order)).toEqual(["zero"])
  })

  it("draws a step, not a connection", () => {
    const world = worldOf([
      { key: "a1", step: "a", weight: 1 }, { key: "a2", step: "a", weight: 1 }, { key: "a3", step: "a", weight: 1 }, { key: "b", weight: 1 }
    ])
    const counts = counted(served(weighted, world, {}, 2_000))
    expect(chiSquare([counts["a1"] ?? 0, counts["b"] ?? 0], [1_000, 1_000])).toBeLessThan(chiGuard)
  })

  it.prop("keeps the drawn step for exactly stickyWeightedLimit successes", { seed: Seed, limit: between(2, 6) }, ({ limit, seed }) => {
    const world = worldOf([{ key: "a", weight: 1 }, { key: "b", weight: 1 }, { key: "c", weight: 1 }])
    const random = seeded(seed)
    let draws = 0
    const moment = world.moment({ random: () => {
      draws++
      return random()
    } })
    const firsts = served(weighted, world, { stickyWeightedLimit: limit }, limit * 5, moment)
    expect(draws).toBe(5)
    for (let i = 0; i < firsts.length; i++) expect(firsts[i]).toBe(firsts[i - i % limit])
  })

  it("forgets the drawn step when another one had to answer", () => {
    const world = worldOf([{ key: "a", weight: 1 }, { key: "b", weight: 1 }])
    const config = { stickyWeightedLimit: 5 }
    const made = weighted.order(world.candidates, config, null, world.moment())
    expect(weighted.succeeded(made.order[1] as Candidate, config, made.memory, world.moment())).toBeNull()
  })
})

describe("round-robin", () => {
  it.prop("gives each step the same number of uses, in runs of exactly the limit", { steps: between(1, 6), limit: between(1, 5) }, ({ limit, steps }) => {
    const world = worldOf(Array.from({ length: steps }, (_, i) => ({ key: `k${i}` })))
    const firsts = served(roundRobin, world, { stickyRoundRobinLimit: limit }, steps * limit * 3)
    for (let i = 0; i < firsts.length; i++) expect(firsts[i]).toBe(`k${Math.floor(i / limit) % steps}`)
  })

  it("reads 0 as 1, and stays for 3 uses when nothing is set", () => {
    const world = worldOf([{ key: "a" }, { key: "b" }])
    expect(served(roundRobin, world, { stickyRoundRobinLimit: 0 }, 4)).toEqual(["a", "b", "a", "b"])
    expect(served(roundRobin, world, {}, 6)).toEqual(["a", "a", "a", "b", "b", "b"])
  })

  it("takes turns by step, and goes on in the order of the turns", () => {
    const world = worldOf([{ key: "a1", step: "a" }, { key: "a2", step: "a" }, { key: "b" }, { key: "c" }])
    const config = { stickyRoundRobinLimit: 1 }
    expect(served(roundRobin, world, config, 4)).toEqual(["a1", "b", "c", "a1"])
    const after: Memory = { step: "a", uses: 1 }
    expect(keysOf(roundRobin.order(world.candidates, config, after, world.moment()).order)).toEqual(["b", "c", "a1", "a2"])
  })

  it("passes over a step that is away without moving anybody's turn", () => {
    const config = { stickyRoundRobinLimit: 1 }
    const away = worldOf([{ key: "a" }, { key: "b", down: true }, { key: "c" }])
    const made = roundRobin.order(away.candidates, config, { step: "a", uses: 1 }, away.moment())
    expect(firstOf(made)).toBe("c")
    const back = worldOf([{ key: "a" }, { key: "b" }, { key: "c" }])
    expect(firstOf(roundRobin.order(back.candidates, config, made.memory, back.moment()))).toBe("a")
  })

  it("goes on behind the step whose turn it was, also when that one is away", () => {
    const world = worldOf([{ key: "a" }, { key: "b", down: true }, { key: "c" }])
    expect(firstOf(roundRobin.order(world.candidates, { stickyRoundRobinLimit: 1 }, { step: "b", uses: 1 }, world.moment()))).toBe("c")
  })

  it("gives up the rest of a run when its step is away", () => {
    const world = worldOf([{ key: "a", down: true }, { key: "b" }])
    expect(roundRobin.order(world.candidates, {}, { step: "a", uses: 1 }, world.moment()).memory).toEqual({ step: "b", uses: 1 })
  })
})

describe("strict-random", () => {
  it.prop("draws every target once per round", { seed: Seed, size: between(1, 8) }, ({ seed, size }) => {
    const world = worldOf(Array.from({ length: size }, (_, i) => ({ key: `k${i}` })))
    const firsts = served(strictRandom, world, {}, size * 4, world.moment({ random: seeded(seed) }))
    for (let round = 0; round < 4; round++) expect(new Set(firsts.slice(round * size, (round + 1) * size)).size).toBe(size)
  })

  it("keeps the card of one that is away for later in the round", () => {
    const away = worldOf([{ key: "a", down: true }, { key: "b" }])
    const made = strictRandom.order(away.candidates, {}, { deck: ["a", "b"] }, away.moment())
    expect(firstOf(made)).toBe("b")
    expect(made.memory).toEqual({ deck: ["a"] })
  })

  it("has the rest of the deck before those that had their turn", () => {
    const world = worldOf([{ key: "a" }, { key: "b" }, { key: "c" }, { key: "d" }])
    expect(keysOf(strictRandom.order(world.candidates, {}, { deck: ["d", "b"] }, world.moment()).order)).toEqual(["d", "b", "a", "c"])
  })
})

describe("random", () => {
  it.prop("puts each candidate first equally often", { seed: Seed }, ({ seed }) => {
    const world = worldOf([{ key: "a" }, { key: "b" }, { key: "c" }, { key: "d" }])
    const counts = counted(served(random, world, {}, 2_000, world.moment({ random: seeded(seed) })))
    expect(chiSquare(["a", "b", "c", "d"].map((key) => counts[key] ?? 0), [500, 500, 500, 500])).toBeLessThan(chiGuard)
  })
})

describe("p2c", () => {
  it("never puts the most loaded first, and the least loaded in two of four draws", () => {
    const world = worldOf([{ key: "idle", inFlight: 0 }, { key: "some", inFlight: 1 }, { key: "more", inFlight: 2 }, { key: "most", inFlight: 3 }])
    const counts = counted(served(p2c, world, {}, 6_000))
    expect(counts["most"]).toBeUndefined()
    // Pairs of four: 3 of 6 hold the idle one, 2 of 6 are led by the next, 1 of 6 by the third.
    expect(chiSquare(["idle", "some", "more"].map((key) => counts[key] ?? 0), [3_000, 2_000, 1_000])).toBeLessThan(chiGuard)
  })

  it("takes the healthier of two with the same load", () => {
    const world = worldOf([{ key: "sick", errorRate: 0.5 }, { key: "degraded", breaker: "degraded" }])
    expect(counted(served(p2c, world, {}, 50))).toEqual({ degraded: 50 })
  })
})
