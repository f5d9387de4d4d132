import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { gather } from "#actors/ensemble/gather.ts"

const patience = { minPanel: 2, stragglerGraceMs: 8_000, panelHardTimeoutMs: 90_000 }
/** Answers its name (null: nothing) after a while. */
const after = <A>(ms: number, value: A): Effect.Effect<A> => Effect.delay(Effect.succeed(value), ms)

/** When it ends (ms from its start) and with what. */
const timed = (calls: ReadonlyArray<Effect.Effect<string | null>>, tuning = patience) => Effect.gen(function*() {
  const startedAt = yield* Clock.currentTimeMillis
  const fiber = yield* Effect.forkChild(Effect.gen(function*() {
    const given = yield* gather(calls, tuning)
    return { given, ms: (yield* Clock.currentTimeMillis) - startedAt }
  }))
  yield* TestClock.adjust(200_000)
  return yield* Fiber.join(fiber)
})

describe("gathering a panel", () => {
  it.effect("ends when everybody has", () => Effect.gen(function*() {
    assert.deepStrictEqual(yield* timed([after(10, "a"), after(30, "b"), after(20, null)]), { given: ["a", "b", null], ms: 30 })
    assert.deepStrictEqual(yield* timed([]), { given: [], ms: 0 })
  }))

  it.effect("gives stragglers a grace after the quorum, and cuts them", () => Effect.gen(function*() {
    let cut = 0
    const slow = Effect.onInterrupt(after(60_000, "slow"), () => Effect.sync(() => { cut++ }))
    assert.deepStrictEqual(yield* timed([slow, after(10, "a"), after(5_000, null), after(20, "b"), after(8_000, "c")]), { given: [null, "a", null, "b", "c"], ms: 8_020 })
    assert.strictEqual(cut, 1)
  }))

  it.effect("ends at the hard limit without a quorum", () => Effect.gen(function*() {
    assert.deepStrictEqual(yield* timed([after(10, "a"), after(100_000, "b"), after(5, null)]), { given: ["a", null, null], ms: 90_000 })
  }))

  it.effect("a panel smaller than the quorum is waited for whole", () => Effect.gen(function*() {
    assert.deepStrictEqual(yield* timed([after(40_000, "a")], { ...patience, minPanel: 5 }), { given: ["a"], ms: 40_000 })
  }))

  const Times = Schema.Array(Schema.Struct({ ms: Schema.Literals([1, 5, 90, 500, 7_000, 9_000, 50_000, 100_000]), ok: Schema.Boolean })).check(Schema.isMaxLength(6))
  it.effect.prop("never longer than the hard limit, nor than the quorum and its grace; and nothing given in time is lost", [Arbitrary.schema(Times), Arbitrary.schema(Schema.Literals([1, 2, 3]))], ([times, minPanel]) =>
    Effect.gen(function*() {
      const { given, ms } = yield* timed(times.map(({ ms: after_, ok }, i) => after(after_, ok ? String(i) : null)), { ...patience, minPanel })
      const answered = times.filter(({ ok }) => ok).map((one) => one.ms).toSorted((a, b) => a - b)
      const quorum = answered[Math.min(minPanel, times.length) - 1]
      const all = Math.max(0, ...times.map((one) => one.ms))
      assert.strictEqual(ms, Math.min(all, patience.panelHardTimeoutMs, quorum === undefined ? Infinity : quorum + patience.stragglerGraceMs))
      for (const [i, one] of times.entries()) if (one.ok && one.ms < ms) assert.strictEqual(given[i], String(i))
    }))
})
