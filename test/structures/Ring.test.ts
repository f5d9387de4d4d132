import { describe, expect, it } from "vitest"
import { Ring } from "#src/platform/structures/Ring.ts"

describe("a ring", () => {
  it("holds the newest, newest first, and finds the newest that fits", () => {
    const ring = new Ring<{ readonly id: string; readonly n: number }>(3)
    expect([ring.newest(5), ring.find(() => true)]).toEqual([[], undefined])
    for (const n of [1, 2, 3, 4, 5]) {
      ring.push({ id: n % 2 === 0 ? "even" : "odd", n })
      expect(ring.newest(9).map((one) => one.n)).toEqual([n, n - 1, n - 2].filter((one) => one > 0))
    }
    expect(ring.find(({ id }) => id === "odd")?.n).toBe(5)
    expect(ring.find(({ id }) => id === "even")?.n).toBe(4)
    expect(ring.find(({ n }) => n === 2)).toBeUndefined()
    expect(ring.newest(1).map(({ n }) => n)).toEqual([5])
    expect(ring.newest(-1)).toEqual([])
  })
})
