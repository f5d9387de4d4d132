/** The targets that hold the caches of conversations: how an order changes, and for how long. */
import { describe, expect, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { CachePins } from "#src/routing/Memories.ts"
import type { Candidate } from "#src/routing/models/candidate.ts"

const candidates = (keys: ReadonlyArray<string>): ReadonlyArray<Candidate> => keys.map((executionKey) => ({ executionKey }) as Candidate)
const asked = { keyId: "k", now: 0, promptPrefix: "", session: "s" }
const long = "p".repeat(2_048)

describe("a kept target", () => {
  it.prop("goes first, and the others stay in their order", { keys: Schema.UniqueArray(Schema.String), at: Schema.Int }, ({ at, keys }) => {
    const pins = new CachePins()
    const order = candidates(keys)
    const own = order[Math.abs(at) % Math.max(1, keys.length)]
    if (own === undefined) return
    pins.keep("c", own, asked)
    expect(pins.first("c", order, asked)).toEqual([own, ...order.filter((one) => one !== own)])
    expect(pins.first("c", order, { ...asked, now: 3_599_999 })[0]).toBe(own)
    for (const other of [{ ...asked, session: "t" }, { ...asked, keyId: null }, { ...asked, now: 3_600_000 }]) expect(pins.first("c", order, other)).toBe(order)
    expect(pins.first("d", order, asked)).toBe(order)
  })

  it("is known by the beginning of a long prompt, is no more where it is not to be had, and stays with another answer", () => {
    const pins = new CachePins()
    const order = candidates(["a", "b"])
    const bare = { ...asked, session: null, promptPrefix: long }
    pins.keep("c", { executionKey: "b" }, bare)
    expect(pins.first("c", order, bare).map(({ executionKey }) => executionKey)).toEqual(["b", "a"])
    expect(pins.first("c", order, { ...bare, promptPrefix: `q${long.slice(1)}` })).toBe(order)
    const left = candidates(["a"])
    expect(pins.first("c", left, bare)).toBe(left)
    pins.keep("c", { executionKey: "a" }, { ...bare, now: 10 })
    expect(pins.first("c", order, { ...bare, now: 3_600_009 })).toBe(order)
    pins.keep("c", { executionKey: "b" }, { ...bare, promptPrefix: long.slice(1) })
    expect(pins.first("c", order, { ...bare, promptPrefix: long.slice(1) })).toBe(order)
  })
})
