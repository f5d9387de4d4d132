import { describe, expect } from "vitest"
import { it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import type { Target } from "#actors/request/ports/Target.ts"
import type { Memory } from "#src/routing/models/candidate.ts"
import { Generations } from "#src/routing/models/Generations.ts"
import { Memories, SessionPins } from "#src/routing/Memories.ts"
import { candidatesOf, select, selectionStrategies, settingsOf, type SelectionSettings } from "#src/routing/selection.ts"
import { keysOf, now, Pool, poolWorld, seeded, worldOf } from "#test/routing/strategies/world.ts"

const settings = (stored: Readonly<Record<string, unknown>> = {}): SelectionSettings => settingsOf(new Map(Object.entries(stored)))

describe("settings", () => {
  it("are fill-first, 3 uses, and no affinity when nothing (or nonsense) is stored", () => {
    const expected = { strategy: "fill-first", sessionAffinityTtlMs: 0, config: { stickyRoundRobinLimit: 3 } }
    expect(settings()).toEqual(expected)
    expect(settings({ fallbackStrategy: "nonsense", stickyRoundRobinLimit: "x", sessionAffinityTtlMs: Number.NaN })).toEqual(expected)
    expect(settings({ fallbackStrategy: "p2c", sessionAffinityTtlMs: 1e12 })).toMatchObject({ strategy: "p2c", sessionAffinityTtlMs: 86_400_000 })
  })
})

describe("selection", () => {
  it("answers the order made with the plan when all are available", () => {
    const world = worldOf([{ key: "a" }, { key: "b" }])
    const order = select(world.targets, settings(), null, world.moment())
    expect(order).toBe(select(world.targets, settings(), null, world.moment()))
    expect(order.order).toBe(candidatesOf(world.targets))
    expect(keysOf(order.order)).toEqual(["a", "b"])
  })
})

for (const strategy of selectionStrategies) {
  it.prop(`${strategy} orders or skips every connection exactly once, with the preferred first and the session's own before all`, {
    pool: Arbitrary.schema(Pool), seed: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 })),
    pinned: Schema.NullOr(Schema.Literals(["k0", "k1", "k5"])), preferred: Schema.Literals([0, 1, 2])
  }, ({ pinned, pool, preferred, seed }) => {
    const world = poolWorld(pool)
    const moment = world.moment({ random: seeded(seed) })
    const wishes = { pinned, preferred: ["k1", "k2"].slice(0, preferred) }
    let memory: Memory = null
    for (let i = 0; i < 3; i++) {
      const made = select(world.targets, settings({ fallbackStrategy: strategy }), memory, moment, wishes)
      const order = keysOf(made.order)
      expect([...order, ...keysOf(made.skipped.map(({ candidate }) => candidate))].sort()).toEqual([...keysOf(world.candidates)].sort())
      for (const key of order) expect(pool[Number(key.slice(1))]?.down).toBe(false)
      const pin = pinned !== null && order.includes(pinned) ? pinned : null
      if (pin !== null) expect(order[0]).toBe(pin)
      const rest = order.filter((key) => key !== pin)
      const split = rest.findIndex((key) => !wishes.preferred.includes(key))
      if (split >= 0) for (const key of rest.slice(split)) expect(wishes.preferred.includes(key)).toBe(false)
      memory = made.memory
    }
  })
}

describe("connections of one provider", () => {
  it("take turns of 3 uses in round-robin; a session with its own connection takes nobody's turn", () => {
    const world = worldOf([{ key: "a" }, { key: "b" }])
    const turn = settings({ fallbackStrategy: "round-robin" })
    let memory: Memory = null
    const firsts: Array<string> = []
    for (let i = 0; i < 9; i++) {
      const own = i % 3 === 2
      const made = select(world.targets, turn, memory, world.moment(), { pinned: own ? "b" : null, preferred: [] })
      if (!own) firsts.push(keysOf(made.order)[0] as string)
      memory = made.memory
    }
    expect(firsts).toEqual(["a", "a", "a", "b", "b", "b"])
  })

  it("of no connection at all are one target of the provider", () => {
    const world = worldOf([{ key: "a" }])
    const open = [{ ...world.targets[0] as Target, connection: null }]
    expect(keysOf(select(open, settings(), null, { ...world.moment(), unavailable: () => null, quota: () => [] }).order)).toEqual(["acme"])
  })
})

describe("what is remembered", () => {
  it("pins a session of a key to the connection that answered, for the time that is set after each answer", () => {
    const pins = new SessionPins()
    const [a, b] = worldOf([{ key: "a" }, { key: "b" }]).targets as readonly [never, never]
    const of = (session: string | null, at: number, keyId: string | null = "k") => pins.of("acme", 100, { session, now: at, keyId })
    pins.keep(a, 100, { session: "s", now, keyId: "k" })
    expect(of("s", now + 99)).toBe("a")
    expect(of("s", now + 100)).toBeNull()
    expect([of("t", now), of("s", now, "l"), of(null, now), pins.of("acme", 0, { session: "s", now, keyId: "k" })]).toEqual([null, null, null, null])
    pins.keep(b, 100, { session: "s", now: now + 50, keyId: "k" })
    expect(of("s", now + 149)).toBe("b")
    pins.keep(a, 0, { session: "u", now, keyId: "k" })
    expect(of("u", now)).toBeNull()
  })

  it("is bounded, keeps the newest and what is read", () => {
    const held = new Generations<number>(10)
    held.set("read", 1)
    for (let i = 0; i < 1_000; i++) {
      held.set(`k${i}`, i)
      expect(held.get("read")).toBe(1)
      expect(held.size).toBeLessThanOrEqual(20)
      for (let back = 0; back < Math.min(9, i); back++) expect(held.get(`k${i - back}`)).toBe(i - back)
    }
  })

  it("is nothing without a key, and is forgotten on demand", () => {
    const memories = new Memories()
    memories.set(null, null, { a: 1 })
    memories.set("x", null, { a: 1 })
    expect([memories.get(null), memories.get("x"), memories.get("y")]).toEqual([null, { a: 1 }, null])
    memories.set("x", { a: 1 }, null)
    expect(memories.get("x")).toEqual({})
  })
})
