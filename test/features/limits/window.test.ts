/** Fixed windows in UTC: they tile time, begin where the operator said, and months have their own lengths. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { minutesOf, secondsUntil, spanAt } from "#actors/limits/window.ts"

const at = (text: string) => Date.parse(text)
const iso = (ms: number) => new Date(ms).toISOString()
const spanOf = (interval: "hourly" | "daily" | "weekly" | "monthly", clock: string, now: string) => {
  const { end, start } = spanAt({ interval, minutes: minutesOf(clock) }, at(now))
  return [iso(start), iso(end)]
}

const Case = Schema.Struct({
  interval: Schema.Literals(["hourly", "daily", "weekly", "monthly"]),
  minutes: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_439 })),
  now: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4_102_444_800_000 }))
})

describe("windows of limits", () => {
  it.prop("each moment is in exactly one window, and the next one begins where it ends", [Arbitrary.schema(Case)], ([{ interval, minutes, now }]) => {
    const span = spanAt({ interval, minutes }, now)
    assert.isTrue(span.start <= now && now < span.end)
    assert.deepStrictEqual(spanAt({ interval, minutes }, span.start), span)
    assert.deepStrictEqual(spanAt({ interval, minutes }, span.end - 1), span)
    assert.strictEqual(spanAt({ interval, minutes }, span.end).start, span.end)
  }, { arbitrary: { runs: 500 } })

  it("a day begins at its reset time, a USD day at 03:00 UTC", () => {
    assert.deepStrictEqual(spanOf("daily", "03:00", "2026-11-22T02:59:59Z"), ["2026-11-21T03:00:00.000Z", "2026-11-22T03:00:00.000Z"])
    assert.deepStrictEqual(spanOf("daily", "03:00", "2026-11-22T03:00:00Z"), ["2026-11-22T03:00:00.000Z", "2026-11-23T03:00:00.000Z"])
  })

  it("a week begins on Monday", () => {
    assert.deepStrictEqual(spanOf("weekly", "00:00", "2026-11-22T23:59:59Z"), ["2026-11-16T00:00:00.000Z", "2026-11-23T00:00:00.000Z"])
    assert.deepStrictEqual(spanOf("weekly", "03:00", "2026-11-23T02:00:00Z"), ["2026-11-16T03:00:00.000Z", "2026-11-23T03:00:00.000Z"])
  })

  it("months have 28, 29, 30 or 31 days", () => {
    assert.deepStrictEqual(spanOf("monthly", "00:00", "2027-02-28T23:59:59Z"), ["2027-02-01T00:00:00.000Z", "2027-03-01T00:00:00.000Z"])
    assert.deepStrictEqual(spanOf("monthly", "00:00", "2028-02-29T12:00:00Z"), ["2028-02-01T00:00:00.000Z", "2028-03-01T00:00:00.000Z"])
    assert.deepStrictEqual(spanOf("monthly", "06:30", "2026-12-01T06:29:00Z"), ["2026-11-01T06:30:00.000Z", "2026-12-01T06:30:00.000Z"])
    assert.deepStrictEqual(spanOf("monthly", "06:30", "2026-12-31T23:59:00Z"), ["2026-12-01T06:30:00.000Z", "2027-01-01T06:30:00.000Z"])
  })

  it("Retry-After is whole seconds, rounded up, at least 1", () => {
    assert.deepStrictEqual([secondsUntil(1_000, 999), secondsUntil(2_001, 1_000), secondsUntil(5, 10)], [1, 2, 1])
  })
})
