import { describe, expect } from "vitest"
import { it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import type { ComboConfig } from "#schemas/records/Combo.ts"
import type { Turn } from "#schemas/wire/conversation.ts"
import { channelIds, channelOf, withinChannel } from "#src/routing/auto/channel.ts"
import { autoEffort, effortOf, shapeOf } from "#src/routing/auto/effort.ts"
import { budgetOf, withHeaders } from "#src/routing/auto/headers.ts"
import { all } from "#src/routing/strategies/filter.ts"
import { keysOf, worldOf } from "#test/routing/strategies/world.ts"

describe("X-Gateway-Mode, -Budget and -Budget-Fallback", () => {
  it("change what they name and nothing else", () => {
    const config: ComboConfig = { explorationRate: 0.2, modePack: "cost-saver" }
    expect(withHeaders(config, { mode: "Fast", budget: "0.25", budgetFallback: "hard" }, false))
      .toEqual({ explorationRate: 0.2, modePack: "ship-fast", budgetCap: 0.25, budgetFallback: "strict" })
    expect(withHeaders(config, { budgetFallback: "cheapest-viable" }, false)).toEqual({ ...config, budgetFallback: "cheapest" })
  })

  it("change nothing when unknown", () => {
    const config: ComboConfig = {}
    expect(withHeaders(config, { mode: "warp", budget: "-1", budgetFallback: "maybe" }, false)).toBe(config)
    expect(withHeaders(config, {}, false)).toBe(config)
  })

  it("give the chaos pack to keys that may have it only", () => {
    expect(withHeaders({}, { mode: "chaos-mode" }, false)).toEqual({})
    expect(withHeaders({}, { mode: "chaos-mode" }, true)).toEqual({ modePack: "chaos-mode" })
  })

  it("never widen a budget of the combo, nor soften a strict one", () => {
    const config: ComboConfig = { budgetCap: 0.1, budgetFallback: "strict" }
    expect(withHeaders(config, { budget: "5", budgetFallback: "soft" }, false)).toEqual(config)
    expect(withHeaders(config, { budget: "0.01" }, false).budgetCap).toBe(0.01)
  })

  it("read positive decimal amounts only", () => {
    expect(["1", " 0.5 ", ".5", "0", "0.0", "-1", "1e3", "Infinity", "NaN", "0x10", "", "1 USD", "1,5"].map(budgetOf))
      .toEqual([1, 0.5, 0.5, null, null, null, null, null, null, null, null, null, null])
  })

  it.prop("never throw, whatever they hold", { mode: Schema.String, budget: Schema.String, budgetFallback: Schema.String }, (headers) => {
    const made = withHeaders({}, headers, true)
    return made.budgetCap === undefined || made.budgetCap > 0
  })
})

describe("channels", () => {
  it("are the documented ids", () => {
    expect(channelOf("auto")).toMatchObject({ name: "", category: null, config: { routerStrategy: "lkgp" } })
    expect(channelOf("auto", "cheap")).toMatchObject({ config: { modePack: "cost-saver" } })
    // By default too, chaos is for its keys alone.
    expect(["cheap", "chaos"].map((variant) => channelOf("auto", variant)?.chaos)).toEqual([false, true])
    expect(channelOf("auto/smart")).toMatchObject({ config: { modePack: "quality-first", explorationRate: 0.1 } })
    expect(channelOf("auto/chaos")).toMatchObject({ chaos: true, config: { modePack: "chaos-mode" } })
    expect(channelOf("auto/coding")).toMatchObject({ category: "coding", config: { modePack: "quality-first" } })
    expect(channelOf("auto/vision:floor")).toMatchObject({ category: "vision", tier: "cheap", config: { modePack: "cost-saver" } })
  })

  it.each(["auto/", "auto/nonsense", "auto/coding:nonsense", "auto/fast:cheap", "auto/constructor", "auto/coding:constructor", "automatic", "x/auto"])(
    "%s is none", (id) => expect(channelOf(id)).toBeNull()
  )

  it("that are offered all resolve", () => {
    for (const id of channelIds) expect(channelOf(id)).not.toBeNull()
    expect(new Set(channelIds).size).toBe(channelIds.length)
  })

  it("filter by category and tier, and keep everybody when nobody fits", () => {
    const world = worldOf([
      { key: "seeing", capabilities: ["vision"], price: 1 }, { key: "blind", capabilities: [], price: 0 }, { key: "unknown" },
      { key: "tagged", capabilities: [], tags: ["vision", "free"], price: 1 }
    ])
    const pool = (category: "vision" | "reasoning" | null, tier: "free" | "pro" | "fast" | null) => withinChannel(all(world.candidates), { category, tier })
    expect(keysOf(pool("vision", null).available)).toEqual(["seeing", "tagged"])
    expect(keysOf(pool("vision", "free").available)).toEqual(["tagged"])
    expect(keysOf(pool(null, "free").available)).toEqual(["blind", "tagged"])
    expect(keysOf(pool(null, "pro").available)).toEqual(["seeing", "unknown"])
    expect(pool("vision", "fast").available.length).toBe(2)
    // Nobody is known to reason: the unknown one may.
    expect(keysOf(pool("reasoning", null).available)).toEqual(["unknown"])
    const blind = worldOf([{ key: "a", capabilities: [] }])
    expect(withinChannel(all(blind.candidates), { category: "vision", tier: null })).toMatchObject({ available: blind.candidates, relaxed: ["pool"] })
  })
})

const turn = (role: Turn["role"], text: string): Turn =>
  ({ role, parts: [{ kind: "text", text, cache: null, annotations: [], signature: null }], name: null, path: "messages[0]" })
const shape = (turns: ReadonlyArray<Turn>) => shapeOf({ turns, tools: [], settings: { output: null } as never })

describe("X-Gateway-Effort: auto", () => {
  it("is low for a short plain question, high for a long or hard one, medium between", () => {
    const plain = { text: "What time is it in Rome?", tools: 0, media: false, structured: false }
    expect(effortOf(plain)).toBe("low")
    expect(effortOf({ ...plain, tools: 2 })).toBe("medium")
    expect(effortOf({ ...plain, structured: true })).toBe("medium")
    expect(effortOf({ ...plain, media: true })).toBe("medium")
    expect(effortOf({ ...plain, text: "x".repeat(500) })).toBe("medium")
    expect(effortOf({ ...plain, text: "const a = 1;" })).toBe("medium")
    expect(effortOf({ ...plain, text: "Prove that it halts." })).toBe("high")
    expect(effortOf({ ...plain, text: "x".repeat(2_001) })).toBe("high")
    expect(effortOf({ ...plain, tools: 9 })).toBe("high")
  })

  it("is the same for every call of one tool loop", () => {
    const start = [turn("system", "s"), turn("user", "first"), turn("assistant", "a"), turn("user", "the question")]
    const call = turn("assistant", "calls a tool")
    const result = turn("tool", "x".repeat(9_000))
    const loop = [start, [...start, call, result], [...start, call, result, turn("user", "reminder: prove it")], [...start, call, result, call, result]]
    for (const turns of loop) expect(shape(turns).text).toBe("the question")
  })

  it("is asked for only by the word auto, and only when the client said nothing about reasoning", () => {
    const low = () => ({ text: "hi", tools: 0, media: false, structured: false })
    expect(autoEffort(" Auto ", false, low)).toBe("low")
    expect(autoEffort("auto", true, low)).toBeNull()
    expect(autoEffort("high", false, low)).toBeNull()
    expect(autoEffort(undefined, false, low)).toBeNull()
  })

  it.prop("always ends, quickly, whatever the text", { text: Schema.String }, ({ text }) =>
    ["low", "medium", "high"].includes(effortOf({ text: text.repeat(50), tools: 0, media: false, structured: false })))
})
