/** So many starts in any minute, and so far apart: never above, and always open again. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Pace from "#actors/resilience/Pace.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const rules = Arbitrary.schema(Schema.Struct({ perMinute: between(0, 12), gapMs: between(0, 3_000) }))
const waits = Arbitrary.schema(Schema.Array(between(0, 20_000)).check(Schema.isMaxLength(80)))

/** Tries to start after each wait; answers when calls began. */
const play = (limits: Pace.PaceRules, pauses: ReadonlyArray<number>): ReadonlyArray<number> => {
  let state = Pace.idle
  let now = 1_700_000_000_000
  const starts: Array<number> = []
  for (const pause of pauses) {
    now += pause
    if (Pace.opensAt(state, limits, now) > now) continue
    state = Pace.started(state, now)
    starts.push(now)
  }
  return starts
}

describe("pacing", () => {
  it.prop("no 60 s have more starts than the limit, and no two starts are closer than the gap", { rules, waits }, ({ rules, waits }) => {
    const starts = play(rules, waits)
    for (const [index, at] of starts.entries()) {
      const before = starts[index - 1]
      if (before !== undefined) assert.isAtLeast(at - before, rules.gapMs)
      if (rules.perMinute > 0) assert.isAtMost(starts.filter((other) => other > at - 60_000 && other <= at).length, rules.perMinute)
    }
  }, { arbitrary: { size: 80 } })

  it.prop("opens at the time it names, within a minute and a second", { rules, waits }, ({ rules, waits }) => {
    let state = Pace.idle
    let now = 1_700_000_000_000
    for (const pause of waits) {
      now += pause
      const opens = Pace.opensAt(state, rules, now)
      assert.isAtLeast(opens, now)
      assert.isAtMost(opens - now, Math.max(61_000, rules.gapMs))
      assert.strictEqual(Pace.opensAt(state, rules, opens), opens)
      if (opens > now) assert.isAbove(Pace.opensAt(state, rules, opens - 1), opens - 1)
      state = Pace.started(state, opens)
      now = opens
    }
  }, { arbitrary: { size: 80 } })

  it("a clock that was set back prolongs nothing beyond the limits themselves", () => {
    const limits = { perMinute: 1, gapMs: 500 }
    const state = Pace.started(Pace.idle, 1_000_000_000)
    assert.isAtMost(Pace.opensAt(state, limits, 1_000) - 1_000, 61_000)
  })

  it("without limits everything may begin at once", () => {
    let state = Pace.idle
    for (let i = 0; i < 5; i++) state = Pace.started(state, 7)
    assert.strictEqual(Pace.opensAt(state, { perMinute: 0, gapMs: 0 }, 7), 7)
  })
})
