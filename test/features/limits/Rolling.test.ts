/** Rolling windows: no stretch of the window's length holds more than the limit, and places come back by themselves. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Rolling from "#actors/limits/Rolling.ts"

const Case = Schema.Struct({
  windowMs: Schema.Literals([1_000, 60_000, 86_400_000]),
  limit: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 12 })),
  /** Time since the step before in thousandths of the window, often inside one slot, and how many places are asked for. */
  steps: Schema.Array(Schema.Tuple([
    Schema.Union([Schema.Literals([0, 1, 3, 9, 20]), Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 400 }))]), Schema.Literals([1, 1, 1, 2, 5])
  ])).check(Schema.isMaxLength(150))
})

describe("rolling rate windows (rateLimits)", () => {
  it.prop("any stretch of the window's length has at most the limit, and Retry-After, never longer than the window, is the moment at which a place is free", [Arbitrary.schema(Case)], ([{ limit, steps, windowMs }]) => {
    let rolling = Rolling.make(windowMs, limit)
    let now = 1_000_000
    /** Of places that are kept for later requests the last moment at which they may be used. */
    const latest: Array<number> = []
    for (const [step, wanted] of steps) {
      now += Math.floor(step * windowMs / 1_000)
      const [taken, next] = Rolling.take(rolling, wanted, now)
      rolling = next
      if (taken._tag === "Taken") {
        latest.push(now, ...Array.from({ length: taken.count - 1 }, () => now + rolling.slotMs - now % rolling.slotMs - 1))
      } else {
        assert.isAbove(taken.until, now)
        assert.isAtMost(taken.until, now + windowMs)
        assert.strictEqual(Rolling.take(rolling, 1, taken.until)[0]._tag, "Taken")
        assert.strictEqual(Rolling.take(rolling, 1, taken.until - 1)[0]._tag, "Refused")
      }
    }
    for (const begin of latest) {
      assert.isAtMost(latest.filter((time) => time >= begin && time < begin + windowMs).length, limit)
    }
  }, { arbitrary: { size: 150, runs: 300 } })

  it("a place that was given back is free at once; the others of its slot stay", () => {
    const [taken, full] = Rolling.take(Rolling.make(60_000, 3), 3, 500)
    assert.deepInclude(taken, { _tag: "Taken", count: 3, slot: 0 })
    const back = Rolling.giveBack(full, 0)
    assert.strictEqual(Rolling.count(back), 2)
    assert.deepInclude(Rolling.take(back, 5, 600)[0], { _tag: "Taken", count: 1 })
    assert.strictEqual(Rolling.count(Rolling.giveBack(back, 0)), 2)
    assert.deepInclude(Rolling.take(full, 1, 600)[0], { _tag: "Refused", until: 60_500 })
  })

  it("requests of one slot are one slot, and slots stand in their order, however they came", () => {
    const added = ([[1, 2_500], [2, 500], [1, 1_200], [3, 900], [1, 2_100], [1, 0]] as const).reduce((rolling, [n, at]) => Rolling.add(rolling, n, at), Rolling.make(60_000, 99))
    assert.deepStrictEqual(added.slots, [[0, 6, 900], [1_000, 1, 1_200], [2_000, 2, 2_500]])
    assert.deepStrictEqual(Rolling.giveBack(added, 0).slots[0], [0, 5, 900])
    assert.deepStrictEqual(Rolling.current(added, 60_900).slots, [[1_000, 1, 1_200], [2_000, 2, 2_500]])
    assert.deepStrictEqual(Rolling.current(added, 62_500).slots, [])
    assert.deepStrictEqual([1, 59, 60, 61, 60_000].map(Rolling.slotOf), [1, 1, 1, 2, 1_000])
  })

  it("a quiet window has every place", () => {
    const [, full] = Rolling.take(Rolling.make(60_000, 3), 3, 0)
    assert.strictEqual(Rolling.take(full, 1, 30_000)[0]._tag, "Refused")
    assert.deepInclude(Rolling.take(full, 9, 61_000)[0], { _tag: "Taken", count: 3 })
  })
})
