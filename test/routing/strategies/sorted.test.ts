import { describe, expect } from "vitest"
import { it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import type { ComboConfig } from "#schemas/records/Combo.ts"
import type { Candidate, Moment } from "#src/routing/models/candidate.ts"
import { strategies, type StrategyName } from "#src/routing/strategies/index.ts"
import { blendedPrice, estimatedCost } from "#src/routing/strategies/price.ts"
import { resetScore } from "#src/routing/strategies/quota.ts"
import { firstOf, keysOf, now, Pool, poolWorld, served, type Spec, worldOf } from "#test/routing/strategies/world.ts"

const hour = 3_600_000
const day = 24 * hour

const ordered = (name: StrategyName, specs: ReadonlyArray<Spec>, config: ComboConfig = {}, change: Partial<Moment> = {}) => {
  const world = worldOf(specs)
  return keysOf(strategies[name].order(world.candidates, config, null, world.moment(change)).order)
}
const week = (remainingPercent: number, resetsIn: number | null) =>
  [{ name: "weekly", remainingPercent, resetsAt: resetsIn === null ? null : now + resetsIn }]

describe("listed strategies", () => {
  it.each(["priority", "fill-first", "context-relay", "fusion", "pipeline", "debate"] as const)("%s keeps the listed order", (name) => {
    expect(ordered(name, [{ key: "c" }, { key: "a", down: true }, { key: "b" }])).toEqual(["c", "b"])
  })

  it("fill-first puts used-up plans behind the others until their reset", () => {
    const specs = [{ key: "empty", quota: week(1, day) }, { key: "full", quota: week(80, day) }, { key: "reset", quota: week(0, -1) }]
    expect(ordered("fill-first", specs)).toEqual(["full", "reset", "empty"])
    expect(ordered("priority", specs)).toEqual(["empty", "full", "reset"])
  })

  it("large windows and composite tiers change the listed order", () => {
    const specs = [{ key: "a", window: 10 }, { key: "b" }, { key: "c", window: 99 }]
    expect(ordered("priority", specs, { contextRequirements: { preferLargeContext: true } })).toEqual(["c", "a", "b"])
    const tiers = { top: { stepId: "c", fallbackTier: "low" }, low: { stepId: "b", fallbackTier: "top" } }
    expect(ordered("priority", specs, { compositeTiers: { defaultTier: "top", tiers } })).toEqual(["c", "b", "a"])
  })
})

describe("by use and price", () => {
  it("least-used counts completed and running calls", () => {
    expect(ordered("least-used", [{ key: "a", uses: 3 }, { key: "b", uses: 1, inFlight: 1 }, { key: "c", uses: 2, inFlight: 2 }])).toEqual(["b", "a", "c"])
  })

  it("cost-optimized puts unknown prices last and free ones first", () => {
    expect(ordered("cost-optimized", [{ key: "unknown" }, { key: "dear", price: 9 }, { key: "free", price: 0 }, { key: "cheap", price: 1 }]))
      .toEqual(["free", "cheap", "dear", "unknown"])
  })

  it("prices are 60 % input and 40 % output, of the tier that holds for the prompt", () => {
    const target = { ...worldOf([{ key: "a" }]).targets[0] as Candidate["target"], price: { input: 1, output: 10, long: { above: 1_000, input: 2, output: 20 } } }
    expect(blendedPrice(target, 1_000)).toBeCloseTo(4.6)
    expect(blendedPrice(target, 1_001)).toBeCloseTo(9.2)
  })

  it("a request is expected to cost its prompt and an answer of 1,000 tokens, or of as many as the model can give", () => {
    const target = { ...worldOf([{ key: "a" }]).targets[0] as Candidate["target"], price: { input: 1, output: 10 } }
    expect(estimatedCost(target, 1_000)).toBeCloseTo((1_000 + 10_000) / 1e6, 8)
    expect(estimatedCost({ ...target, maxOutputTokens: 100 }, 1_000)).toBeCloseTo((1_000 + 1_000) / 1e6, 8)
    expect(estimatedCost({ ...target, price: null }, 1_000)).toBe(0)
  })

  it("quota-share empties plans together, and counts what is running", () => {
    expect(ordered("quota-share", [{ key: "low", quota: week(10, day) }, { key: "high", quota: week(90, day) }, { key: "none", quota: week(0, day) }]))
      .toEqual(["high", "low", "none"])
    expect(ordered("quota-share", [{ key: "busy", quota: week(90, day), inFlight: 5 }, { key: "idle", quota: week(60, day) }])).toEqual(["idle", "busy"])
  })
})

describe("by quota", () => {
  it("headroom has most remaining first, then unread plans, then used-up ones", () => {
    const specs = [{ key: "empty", quota: week(0, day) }, { key: "unread" }, { key: "some", quota: week(20, day) }, { key: "most", quota: week(70, day) }]
    expect(ordered("headroom", specs)).toEqual(["most", "some", "unread", "empty"])
  })

  it("headroom goes by the tightest window", () => {
    const two = [{ name: "session", remainingPercent: 5, resetsAt: null }, { name: "weekly", remainingPercent: 99, resetsAt: null }]
    expect(ordered("headroom", [{ key: "tight", quota: two }, { key: "even", quota: week(50, null) }])).toEqual(["even", "tight"])
  })

  it("reset-window has the soonest reset first", () => {
    const specs = [{ key: "late", quota: week(50, 5 * day) }, { key: "soon", quota: week(50, hour) }, { key: "unread" }, { key: "empty", quota: week(0, 1) }]
    expect(ordered("reset-window", specs)).toEqual(["soon", "late", "unread", "empty"])
  })

  it("reset-aware prefers what is lost first, guards nearly empty plans, and weighs the week more than the session", () => {
    expect(ordered("reset-aware", [{ key: "late", quota: week(60, 6 * day) }, { key: "soon", quota: week(60, day / 4) }])).toEqual(["soon", "late"])
    expect(ordered("reset-aware", [{ key: "guarded", quota: week(9, 1) }, { key: "poor", quota: week(11, 7 * day) }])).toEqual(["poor", "guarded"])
    const both = (session: number, weekly: number) =>
      [{ name: "session", remainingPercent: session, resetsAt: null }, { name: "weekly", remainingPercent: weekly, resetsAt: null }]
    const weights = { session: 0.35, weekly: 0.65 }
    expect(resetScore(both(20, 90), weights, now)).toBeGreaterThan(resetScore(both(90, 20), weights, now))
    expect(resetScore([], weights, now)).toBe(0.5)
    expect(ordered("reset-aware", [{ key: "session", quota: both(90, 40) }, { key: "week", quota: both(40, 90) }])).toEqual(["week", "session"])
    expect(ordered("reset-aware", [{ key: "session", quota: both(90, 40) }, { key: "week", quota: both(40, 90) }], { resetAwareSessionWeight: 1, resetAwareWeeklyWeight: 0 }))
      .toEqual(["session", "week"])
  })

  it("reset-aware lets those within the tie band take turns, and nobody else", () => {
    const world = worldOf([{ key: "a", quota: week(80, null) }, { key: "b", quota: week(78, null) }, { key: "c", quota: week(60, null) }])
    expect(served(strategies["reset-aware"], world, {}, 4)).toEqual(["a", "b", "a", "b"])
    expect(served(strategies["reset-aware"], world, { resetAwareTieBandPercent: 0 }, 2)).toEqual(["a", "a"])
  })
})

describe("by the request", () => {
  it("context-optimized has the best fit first, then unknown windows, then the largest of those too small", () => {
    const specs = [{ key: "huge", window: 1_000_000 }, { key: "tiny", window: 4_000 }, { key: "unknown" }, { key: "fit", window: 32_000 }, { key: "small", window: 8_000 }]
    expect(ordered("context-optimized", specs, {}, { promptTokens: 20_000 })).toEqual(["fit", "huge", "unknown", "small", "tiny"])
  })

  it.prop("cache-optimized keeps the place of a beginning when others come and go", { pool: Arbitrary.schema(Pool) }, ({ pool }) => {
    const world = poolWorld(pool.map((one) => ({ ...one, down: false })))
    const moment = world.moment({ promptPrefix: "You are a helpful" })
    const whole = keysOf(strategies["cache-optimized"].order(world.candidates, {}, null, moment).order)
    const without = keysOf(strategies["cache-optimized"].order(world.candidates.slice(1), {}, null, moment).order)
    expect(without).toEqual(whole.filter((key) => key !== "k0"))
  })

  it("cache-optimized spreads different beginnings over all connections", () => {
    const world = worldOf([{ key: "a" }, { key: "b" }, { key: "c" }, { key: "d" }])
    const firsts = Array.from({ length: 400 }, (_, i) =>
      firstOf(strategies["cache-optimized"].order(world.candidates, {}, null, world.moment({ promptPrefix: `prompt ${i}` }))))
    for (const key of ["a", "b", "c", "d"]) expect(firsts.filter((first) => first === key).length).toBeGreaterThan(60)
  })
})
