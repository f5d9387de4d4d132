import { describe, expect } from "vitest"
import { it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import type { Candidate, Memory } from "#src/routing/models/candidate.ts"
import { auto, lkgp } from "#src/routing/auto/auto.ts"
import { emptiedByBudget } from "#src/routing/auto/budget.ts"
import { exclusionsIn, firstExclusionMs, longestExclusionMs, next } from "#src/routing/auto/exclusions.ts"
import { scored } from "#src/routing/auto/factors.ts"
import { packs } from "#src/routing/auto/packs.ts"
import { isIncident, routerOf } from "#src/routing/auto/routers.ts"
import { firstOf, keysOf, now, Pool, poolWorld, seeded, served, type Spec, worldOf } from "#test/routing/strategies/world.ts"

const still = { explorationRate: 0 }
const order = (specs: ReadonlyArray<Spec>, config = {}, memory: Memory = null) => {
  const world = worldOf(specs)
  return auto.order(world.candidates, { ...still, ...config }, memory, world.moment())
}

/** Each is better than the other in one thing. */
const Better = Schema.Literals(["breaker", "errorRate", "p95", "quota", "inFlight", "price"])

describe("scores", () => {
  it.prop("are between 0 and 1", { pool: Arbitrary.schema(Pool) }, ({ pool }) => {
    const world = poolWorld(pool)
    for (const weights of Object.values(packs)) {
      for (const { factors, score } of scored(world.candidates, weights, world.moment({ promptPrefix: "p" }))) {
        expect(score >= 0 && score <= 1 + 1e-9).toBe(true)
        for (const value of Object.values(factors)) expect(value >= 0 && value <= 1).toBe(true)
      }
    }
  })

  it.prop("never move a candidate down when it gets better", { pool: Arbitrary.schema(Pool), better: Better }, ({ better, pool }) => {
    const subject = pool[0]
    if (subject === undefined) return
    const improved = {
      breaker: { ...subject, breaker: "closed" as const },
      errorRate: { ...subject, errorRate: subject.errorRate === null ? null : 0 },
      p95: { ...subject, p95: subject.p95 === null ? null : Math.ceil(subject.p95 / 2) },
      quota: { ...subject, remaining: subject.remaining === null ? null : 100 },
      inFlight: { ...subject, inFlight: 0 },
      price: { ...subject, price: subject.price === null ? null : subject.price / 2 }
    }[better]
    const place = (first: typeof subject) => {
      const world = poolWorld([first, ...pool.slice(1)])
      // Candidate 0 is listed first, so that a tie is no change of place.
      const by = scored(world.candidates, packs["reliability-first"], world.moment())
      return by.filter(({ score }) => score > (by[0]?.score ?? 0) + 1e-12).length
    }
    expect(place(improved)).toBeLessThanOrEqual(place(subject))
  })

  it("put the healthy before the sick, the cheap before the dear, the quick before the slow", () => {
    expect(firstOf(order([{ key: "probed", breaker: "half-open" }, { key: "well" }]))).toBe("well")
    expect(firstOf(order([{ key: "dear", price: 50 }, { key: "cheap", price: 1 }], { modePack: "cheap" }))).toBe("cheap")
    expect(firstOf(order([{ key: "slow", p95: 4_000 }, { key: "quick", p95: 200 }], { modePack: "fast" }))).toBe("quick")
  })
})

describe("routers", () => {
  it("have their other names, and unknown ones are rules", () => {
    expect(["rules", "score", "cost", "eco", "latency", "fast", "sla-aware", "sla", "lkgp", "toString", undefined].map(routerOf))
      .toEqual(["rules", "score", "cost", "cost", "latency", "latency", "sla", "sla", "lkgp", "rules", "rules"])
  })

  it("cost goes by price alone, latency by p95 and errors", () => {
    const specs = [{ key: "cheap-sick", price: 1, breaker: "degraded" as const, p95: 900 }, { key: "dear-well", price: 9, p95: 1_000, errorRate: 0 }, { key: "failing", price: 10, p95: 500, errorRate: 0.6 }]
    expect(keysOf(order(specs, { routerStrategy: "eco" }).order)).toEqual(["cheap-sick", "dear-well", "failing"])
    expect(keysOf(order(specs, { routerStrategy: "fast" }).order)).toEqual(["cheap-sick", "dear-well", "failing"])
    expect(keysOf(order(specs.map((spec) => ({ ...spec, errorRate: 0 })), { routerStrategy: "fast" }).order)[0]).toBe("failing")
  })

  it("sla prefers those within the agreement, and drops the others only when it is hard", () => {
    const specs = [{ key: "late", p95: 3_000, errorRate: 0 }, { key: "kept", p95: 900, errorRate: 0.01 }]
    const agreement = { routerStrategy: "sla", slaTargetP95Ms: 1_000, slaMaxErrorRate: 0.05 }
    expect(keysOf(order(specs, agreement).order)).toEqual(["kept", "late"])
    // The score alone would say otherwise.
    const dear = specs.map((spec) => ({ ...spec, price: spec.key === "kept" ? 9 : 1 }))
    expect(keysOf(order(dear, { ...agreement, weights: { costInv: 1 } }).order)).toEqual(["kept", "late"])
    expect(keysOf(order(dear, { weights: { costInv: 1 } }).order)).toEqual(["late", "kept"])
    const hard = order(specs, { ...agreement, slaHardConstraints: true })
    expect(keysOf(hard.order)).toEqual(["kept"])
    expect(hard.skipped[0]?.unavailable.reason).toBe("too-slow")
    expect(order(specs, { ...agreement, slaTargetP95Ms: 1, slaHardConstraints: true })).toMatchObject({ relaxed: ["sla"], skipped: [] })
  })

  it("lkgp begins with what answered last for the key", () => {
    const world = worldOf([{ key: "best", price: 1 }, { key: "other", price: 2 }])
    const memory = auto.succeeded(world.candidates[1] as Candidate, {}, null, world.moment())
    expect(firstOf(auto.order(world.candidates, { ...still, routerStrategy: "lkgp" }, memory, world.moment()))).toBe("other")
    expect(firstOf(auto.order(world.candidates, still, memory, world.moment()))).toBe("best")
    expect(firstOf(lkgp.order(world.candidates, { explorationRate: 1 }, memory, world.moment()))).toBe("other")
    expect(firstOf(lkgp.order(world.candidates, {}, { last: "gone" }, world.moment()))).toBe("best")
  })
})

describe("exploration", () => {
  it.prop("tries another than the best in about its share of the requests", { seed: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 })) }, ({ seed }) => {
    const world = worldOf([{ key: "best", p95: 1 }, { key: "b", p95: 100 }, { key: "c", p95: 100 }])
    const firsts = served(auto, world, { explorationRate: 0.1 }, 1_000, world.moment({ random: seeded(seed) }))
    const others = firsts.filter((key) => key !== "best").length
    // 100 expected, standard deviation 9.5.
    expect(others).toBeGreaterThan(50)
    expect(others).toBeLessThan(150)
  })

  it("is 5 % when nothing is set, and none at 0", () => {
    const world = worldOf([{ key: "best", p95: 1 }, { key: "b", p95: 100 }])
    const others = (config: object) => served(auto, world, config, 4_000).filter((key) => key !== "best").length
    expect(others({})).toBeGreaterThan(130)
    expect(others({})).toBeLessThan(270)
    expect(others({ explorationRate: 0 })).toBe(0)
  })

  it("stops in an incident, when the healthiest come first", () => {
    const specs: ReadonlyArray<Spec> = [
      { key: "open1", provider: "p1", breaker: "open", down: true }, { key: "open2", provider: "p2", breaker: "open", down: true },
      { key: "cheap", provider: "p3", breaker: "degraded", price: 0 }, { key: "well", provider: "p3", price: 50 }
    ]
    const world = worldOf(specs)
    expect(isIncident(world.candidates, world.moment())).toBe(true)
    const config = { explorationRate: 1, modePack: "cheap", routerStrategy: "cost" }
    expect(keysOf(auto.order(world.candidates, config, null, world.moment()).order)).toEqual(["well", "cheap"])
    expect(isIncident(world.candidates.slice(1), world.moment())).toBe(false)
  })
})

describe("budget", () => {
  const specs = [{ key: "dear", price: 50 }, { key: "cheap", price: 10 }, { key: "free", price: 0 }]
  const priced = specs.slice(0, 2)

  it("leaves out who is estimated above it", () => {
    expect(keysOf(order(specs, { budgetCap: 0.02 }).order).toSorted()).toEqual(["cheap", "free"])
    expect(keysOf(order(specs, { budgetCap: 0.001 }).order)).toEqual(["free"])
  })

  it("keeps the cheapest when everybody is above it", () => {
    const made = order(priced, { budgetCap: 0.001 })
    expect(keysOf(made.order)).toEqual(["cheap"])
    expect(made.skipped.map(({ unavailable }) => unavailable.reason)).toEqual(["over-budget"])
    expect(emptiedByBudget(made)).toBe(false)
  })

  it("keeps nobody when it is strict, and says why", () => {
    const made = order(priced, { budgetCap: 0.001, budgetFallback: "strict" })
    expect(made.order).toEqual([])
    expect(emptiedByBudget(made)).toBe(true)
    expect(emptiedByBudget(order([{ key: "a", down: true }], { budgetCap: 0.001, budgetFallback: "strict" }))).toBe(false)
  })

  it.prop("strict never asks anybody above the cap; cheapest asks one of them at most", {
    prices: Arbitrary.schema(Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))).check(Schema.isMaxLength(8), Schema.isMinLength(1))),
    cap: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 }))
  }, ({ cap, prices }) => {
    const pool = prices.map((price, i) => ({ key: `k${i}`, price }))
    // 1,000 answer tokens at `price` per million.
    const fits = prices.filter((price) => price / 1_000 <= cap / 1_000).length
    expect(order(pool, { budgetCap: cap / 1_000, budgetFallback: "strict" }).order.length).toBe(fits)
    const cheapest = order(pool, { budgetCap: cap / 1_000, budgetFallback: "cheapest" }).order
    expect(cheapest.length).toBe(Math.max(1, fits))
    if (fits === 0) expect(prices[Number(cheapest[0]?.executionKey.slice(1))]).toBe(Math.min(...prices))
  })
})

describe("pools", () => {
  it("are those the combo names, else everybody", () => {
    const specs = [{ key: "a", provider: "p1" }, { key: "b", provider: "p2" }]
    expect(keysOf(order(specs, { candidatePool: ["p2/m"] }).order)).toEqual(["b"])
    expect(keysOf(order(specs, { candidatePool: ["p2"] }).order)).toEqual(["b"])
    expect(order(specs, { candidatePool: ["nobody"] })).toMatchObject({ relaxed: ["pool"], skipped: [] })
    expect(order(specs, { candidatePool: [] }).order.length).toBe(2)
    expect(order(specs, { candidatePool: [] }).relaxed).toBeUndefined()
  })
})

describe("self-healing", () => {
  const bad: ReadonlyArray<Spec> = [{ key: "bad", errorRate: 1, breaker: "half-open" }, { key: "good", errorRate: 0 }]
  const config = { weights: { stability: 1 }, explorationRate: 0 }

  it("leaves a bad one out for 5 minutes, then longer each time up to 30, and forgets it when it is good again", () => {
    const world = worldOf(bad)
    const at = (time: number, memory: Memory) => auto.order(world.candidates, config, memory, world.moment({ now: time }))
    let memory: Memory = null
    let time = now
    for (const minutes of [5, 10, 20, 30, 30]) {
      const made = at(time, memory)
      expect(keysOf(made.order)).toEqual(["good"])
      expect(made.skipped[0]?.unavailable).toMatchObject({ reason: "excluded", until: time + minutes * 60_000 })
      // A running exclusion is not begun anew.
      expect(at(time + 1, made.memory).memory).toBe(made.memory)
      memory = made.memory
      time += minutes * 60_000
    }
    const healed = worldOf([{ key: "bad", errorRate: 0 }, { key: "good", errorRate: 0 }])
    const made = auto.order(healed.candidates, config, memory, healed.moment({ now: time }))
    expect(made.order.length).toBe(2)
    expect(exclusionsIn(made.memory)).toEqual({})
  })

  it("begins below 0.2, not at it", () => {
    expect(next({}, [{ key: "a", score: 0.2 }, { key: "b", score: 0.1999 }], now)).toEqual({ b: { until: now + 300_000, ms: 300_000 } })
  })

  it("leaves out the sick only: a dear one with a low score is merely last", () => {
    const costly = { weights: { costInv: 1 } }
    const specs = (errorRate: number) => [{ key: "dear", price: 90, errorRate }, { key: "cheap", price: 1 }]
    expect(keysOf(order(specs(0.25), costly).order)).toEqual(["cheap", "dear"])
    expect(keysOf(order(specs(0.26), costly).order)).toEqual(["cheap"])
  })

  it("leaves nobody out when everybody is bad", () => {
    const made = order([{ key: "a", errorRate: 1 }, { key: "b", errorRate: 1 }], config)
    expect(made).toMatchObject({ relaxed: ["excluded"], skipped: [], memory: null })
  })

  it.prop("ends: no exclusion is longer than 30 minutes", {
    scores: Arbitrary.schema(Schema.Array(Schema.Struct({ key: Schema.Literals(["a", "b"]), score: Schema.Literals([0, 0.19, 0.2, 1]), wait: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4_000_000 })) })))
  }, ({ scores }) => {
    let held = exclusionsIn(null)
    let time = now
    for (const { key, score, wait } of scores) {
      time += wait
      const before = held[key]
      held = next(held, [{ key, score }], time)
      const after = held[key]
      if (after !== undefined && after !== before) expect(after.until - time).toBe(after.ms)
      for (const { ms, until } of Object.values(held)) {
        expect(ms >= firstExclusionMs && ms <= longestExclusionMs).toBe(true)
        expect(until - time).toBeLessThanOrEqual(longestExclusionMs)
      }
      if (before !== undefined && before.until > time) expect(after).toBe(before)
    }
  })
})
