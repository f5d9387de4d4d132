import { assert, describe, it } from "@effect/vitest"
import * as Steady from "#actors/limits/steady.ts"

describe("the clock of blocks", () => {
  it("counts pauses and suspended machines, and is not prolonged by a clock that is set back", () => {
    let wall = 1_700_000_000_000
    let monotonic = 5_000
    const steady = Steady.make({ currentTimeMillisUnsafe: () => wall, monotonicTimeNanosUnsafe: () => BigInt(monotonic) * 1_000_000n })
    const began = steady()
    const passed = (wallMs: number, monotonicMs: number): number => {
      wall += wallMs
      monotonic += monotonicMs
      return steady() - began
    }
    assert.strictEqual(passed(9_000, 9_000), 9_000)
    // The machine slept: its monotonic clock with it.
    assert.strictEqual(passed(60_000, 10), 69_000)
    // Set back by an hour, and right again.
    assert.strictEqual(passed(-3_600_000, 5), 69_005)
    assert.strictEqual(passed(1_000, 1_000), 70_005)
    assert.strictEqual(passed(3_600_000 + 500, 500), 70_505)
  })
})
