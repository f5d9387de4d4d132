/** Rolling windows: no stretch of the window's length holds more than the limit, and places come back by themselves. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Rolling from "#actors/limits/Rolling.ts"

const Case = Schema.Struct({
  windowMs: Schema.Literals([1_000, 60_000, 86_400_000]),
  limit: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 12 })),
  /** Steps in thousandths of the window. */
  steps: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 400 }))).check(Schema.isMaxLength(150))
})

describe("rolling rate windows (supplement 3.1, rateLimits)", () => {
  it.prop("any stretch of the window's length has at most the limit, and Retry-After is the moment at which a place is free", [Arbitrary.schema(Case)], ([{ limit, steps, windowMs }]) => {
    let rolling = Rolling.make(windowMs, limit)
    let now = 1_000_000
    const admitted: Array<number> = []
    for (const step of steps) {
      now += Math.floor(step * windowMs / 1_000)
      const [taken, next] = Rolling.take(rolling, 1, now)
      rolling = next
      if (taken.type === "taken") admitted.push(now)
      else {
        assert.isAbove(taken.until, now)
        assert.isAtMost(taken.until, now + windowMs + rolling.slotMs)
        assert.strictEqual(Rolling.take(rolling, 1, taken.until)[0].type, "taken")
        assert.strictEqual(Rolling.take(rolling, 1, taken.until - 1)[0].type, "refused")
      }
    }
    for (const begin of admitted) {
      assert.isAtMost(admitted.filter((time) => time >= begin && time < begin + windowMs).length, limit)
    }
  }, { arbitrary: { runs: 300 } })

  it("a quiet window has every place", () => {
    const [, full] = Rolling.take(Rolling.make(60_000, 3), 3, 0)
    assert.strictEqual(Rolling.take(full, 1, 30_000)[0].type, "refused")
    assert.deepStrictEqual(Rolling.take(full, 9, 61_000)[0], { type: "taken", count: 3 })
  })
})
