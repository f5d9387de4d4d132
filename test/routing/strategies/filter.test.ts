import { describe, expect } from "vitest"
import { it } from "@effect/vitest"
import { filter } from "#src/routing/strategies/filter.ts"
import { keysOf, now, worldOf } from "#test/routing/strategies/world.ts"

const noNeeds = { tools: false, vision: false, structuredOutput: false }

describe("the shared filter", () => {
  it("answers the given list itself when nobody leaves", () => {
    const world = worldOf([{ key: "a" }, { key: "b" }])
    expect(filter(world.candidates, {}, world.moment()).available).toBe(world.candidates)
  })

  it("leaves out who is unavailable, with reason and time", () => {
    const world = worldOf([{ key: "a", down: true }, { key: "b" }])
    const made = filter(world.candidates, {}, world.moment())
    expect(keysOf(made.available)).toEqual(["b"])
    expect(made.skipped[0]?.unavailable).toEqual({ reason: "connection-cooldown", until: now + 1_000, detail: "cooling" })
  })

  it("requires a known and large enough context window when strict, even when nobody has one", () => {
    const world = worldOf([{ key: "small", window: 8_000 }, { key: "unknown" }, { key: "large", window: 100_000 }])
    const strict = (minContextWindow: number) =>
      filter(world.candidates, { contextRequirements: { minContextWindow, contextFilterMode: "strict" } }, world.moment())
    expect(keysOf(strict(50_000).available)).toEqual(["large"])
    expect(strict(500_000).available).toEqual([])
    expect(strict(500_000).skipped.map(({ unavailable }) => unavailable.reason)).toEqual(["context-too-small", "context-too-small", "context-too-small"])
  })

  it("lets unknown windows pass when lenient, and everybody when nobody would remain", () => {
    const world = worldOf([{ key: "small", window: 8_000 }, { key: "unknown" }])
    const config = { contextRequirements: { minContextWindow: 50_000 } }
    expect(keysOf(filter(world.candidates, config, world.moment()).available)).toEqual(["unknown"])
    const alone = worldOf([{ key: "small", window: 8_000 }])
    expect(filter(alone.candidates, config, alone.moment())).toMatchObject({ available: alone.candidates, relaxed: ["context"] })
  })

  it("counts the prompt against the window only where the combo asks for a context filter", () => {
    const world = worldOf([{ key: "small", window: 8_000 }, { key: "large", window: 100_000 }])
    expect(keysOf(filter(world.candidates, {}, world.moment({ promptTokens: 20_000 })).available)).toEqual(["small", "large"])
    expect(keysOf(filter(world.candidates, { contextRequirements: {} }, world.moment({ promptTokens: 20_000 })).available)).toEqual(["large"])
  })

  it("asks for each capability that the request needs; unknown ones pass", () => {
    const world = worldOf([
      { key: "none", capabilities: [] }, { key: "tools", capabilities: ["tools"] }, { key: "all", capabilities: ["tools", "vision", "structuredOutput"] },
      { key: "unknown" }
    ])
    const available = (needs: Partial<typeof noNeeds>) => keysOf(filter(world.candidates, {}, world.moment({ needs: { ...noNeeds, ...needs } })).available)
    expect(available({ tools: true })).toEqual(["tools", "all", "unknown"])
    expect(available({ vision: true })).toEqual(["all", "unknown"])
    expect(available({ structuredOutput: true })).toEqual(["all", "unknown"])
  })

  it("keeps the whole list and says so when nobody has the capability", () => {
    const world = worldOf([{ key: "a", capabilities: [] }, { key: "b", capabilities: ["tools"] }])
    expect(filter(world.candidates, {}, world.moment({ needs: { ...noNeeds, vision: true } })))
      .toEqual({ available: world.candidates, skipped: [], relaxed: ["capability"] })
  })

  it("leaves out whose first token is expected later than predictiveTtftMs; 0 = off", () => {
    const world = worldOf([{ key: "slow", ttft: 900 }, { key: "quick", ttft: 100 }, { key: "unmeasured" }])
    expect(keysOf(filter(world.candidates, { predictiveTtftMs: 500 }, world.moment()).available)).toEqual(["quick", "unmeasured"])
    expect(keysOf(filter(world.candidates, { predictiveTtftMs: 0 }, world.moment()).available)).toEqual(["slow", "quick", "unmeasured"])
  })
})
