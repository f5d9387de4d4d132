/** Lockouts of one model on one connection: when they begin, how they grow and when they end. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as ModelLockout from "#actors/resilience/ModelLockout.ts"
import { modelLockoutDefaults } from "#schemas/records/ResilienceSettings.ts"

const on: ModelLockout.LockoutRules = { ...modelLockoutDefaults, enabled: true }
const fail = (state: ModelLockout.State | null, status: number, now: number, settings: ModelLockout.LockoutRules = on) =>
  ModelLockout.step(state, { _tag: "Failed", status }, settings, now)
const succeed = (state: ModelLockout.State | null) => ModelLockout.step(state, { _tag: "Succeeded" }, on, 0)[1]

describe("a model lockout", () => {
  it("by default follows only a 404, for 120 s", () => {
    for (const status of [400, 403, 429, 500, 502, 503, 504]) assert.isNull(fail(null, status, 0, modelLockoutDefaults)[1], String(status))
    assert.deepStrictEqual(fail(null, 404, 7, modelLockoutDefaults)[1], { until: 120_007, failures: 1, status: 404 })
  })

  it("when enabled follows the listed codes and doubles up to its cap", () => {
    assert.isNull(fail(null, 500, 0)[1])
    let state: ModelLockout.State | null = null
    const pauses = []
    for (let i = 0, now = 0; i < 6; i++) {
      const [pause, next]: ModelLockout.LockoutStep = fail(state, 429, now)
      pauses.push(pause)
      state = next
      now = next === null ? now : next.until
    }
    assert.deepStrictEqual(pauses, [120_000, 240_000, 480_000, 960_000, 1_800_000, 1_800_000])
    assert.strictEqual(fail({ until: 0, failures: 5, status: 429 }, 429, 0, { ...on, useExponentialBackoff: false })[0], 120_000)
  })

  it("a success halves the failures and none left is no entry", () => {
    assert.deepStrictEqual(succeed({ until: 9, failures: 5, status: 429 }), { until: 9, failures: 2, status: 429 })
    assert.isNull(succeed({ until: 9, failures: 1, status: 429 }))
    assert.isNull(succeed(null))
  })

  it("of another node is heard: the later end of both holds, and one without failures is forgotten", () => {
    const hear = (state: ModelLockout.State | null, until: number, failures = 2) => ModelLockout.step(state, { _tag: "Heard", until, failures, status: 429 }, on, 1_000)
    const own = { until: 5_000, failures: 1, status: 503 }
    assert.deepStrictEqual(hear(null, 3_000), [2_000, { until: 3_000, failures: 2, status: 429 }, []])
    assert.deepStrictEqual(hear(own, 3_000), [4_000, { until: 5_000, failures: 2, status: 429 }, []])
    assert.deepStrictEqual(hear(own, 9_000), [8_000, { until: 9_000, failures: 2, status: 429 }, []])
    assert.strictEqual(hear(null, 400)[0], 0)
    assert.deepStrictEqual(hear(own, 9_000, 0), [0, null, []])
  })

  const Act = Schema.Struct({
    wait: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 400_000 })),
    status: Schema.Literals([200, 400, 404, 429, 500, 503])
  })
  it.prop("of any history never restarts while it runs, and ends", {
    acts: Arbitrary.schema(Schema.Array(Act).check(Schema.isMaxLength(60)))
  }, ({ acts }) => {
    let now = 0
    let state: ModelLockout.State | null = null
    for (const { status, wait } of acts) {
      now += wait
      const before: ModelLockout.State | null = state
      state = status === 200 ? succeed(state) : fail(state, status, now)[1]
      if (before !== null && now < before.until && status !== 200) assert.strictEqual(state, before)
      if (state !== null) {
        assert.isAtMost(state.until, Math.max(before?.until ?? 0, now + on.maxCooldownMs))
        assert.isAtLeast(state.failures, 1)
      }
      if (status === 400 || status === 500) assert.strictEqual(state, before)
    }
  }, { arbitrary: { size: 60 } })
})
