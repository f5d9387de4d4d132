/** Series of buckets that readings of quota windows make. */
import { assert, describe, it } from "@effect/vitest"
import type { QuotaSnapshot } from "#schemas/records/QuotaSnapshot.ts"
import * as Utilization from "#src/features/quotas/utilization.ts"

const bucketMs = 60_000
const reading = (createdAt: number, remainingPercentage: number, more: Partial<QuotaSnapshot> = {}): QuotaSnapshot => ({
  provider: "anthropic", connectionId: "c1", model: null, windowKey: "5h", remainingPercentage, isExhausted: remainingPercentage <= 2, nextResetAt: null,
  windowDurationMs: null, rawData: { limit: null, remaining: null, refills: false }, createdAt, ...more
})

describe("the use of quota windows over a range", () => {
  it("has a bucket for each time with readings: the newest of them, the lowest, and whether it was used up", () => {
    const series = Utilization.seriesOf({ nodeById: new Map() }, [
      reading(130_000, 60.456), reading(119_999, 90), reading(61_000, 1), reading(60_000, 30), reading(59_999, 40)
    ], bucketMs)
    const point = (start: number, remainingPercentage: number, lowestPercentage: number, isExhausted: boolean, readings: number) =>
      ({ start: new Date(start).toISOString(), remainingPercentage, lowestPercentage, isExhausted, readings })
    assert.deepStrictEqual(series, [{
      connectionId: "c1", provider: "anthropic", window: "5h", model: null,
      points: [point(0, 40, 40, false, 1), point(60_000, 90, 1, true, 3), point(120_000, 60.46, 60.46, false, 1)]
    }])
  })

  it("keeps windows, models and connections apart, in one order", () => {
    const rows = [reading(5, 1), reading(4, 2, { connectionId: "c0" }), reading(3, 3, { model: "m" }), reading(2, 4, { windowKey: "7d" }), reading(1, 5)]
    const named = (list: ReadonlyArray<QuotaSnapshot>) => Utilization.seriesOf({ nodeById: new Map() }, list, bucketMs).map(({ connectionId, model, points, window }) => [connectionId, window, model, points[0]?.readings])
    assert.deepStrictEqual(named(rows), [["c0", "5h", null, 1], ["c1", "5h", "m", 1], ["c1", "5h", null, 2], ["c1", "7d", null, 1]])
    assert.deepStrictEqual(named([]), [])
  })

  it("has 60 buckets at most in every range", () => {
    for (const { bucketMs: length, ms } of Object.values(Utilization.ranges)) assert.isAtMost(ms / length, 60)
  })
})
