import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { vi } from "vitest"
import * as LoopWatch from "#src/platform/telemetry/LoopWatch.ts"
import * as PrometheusText from "#src/platform/telemetry/prometheusText.ts"

describe("LoopWatch", () => {
  it.effect("counts how late each tick came, and answers the percentiles of all", () =>
    Effect.gen(function*() {
      const registry = new Map()
      yield* Effect.gen(function*() {
        const context = yield* Effect.context<never>()
        let tick = () => {}
        let now = 1_000
        const clock = vi.spyOn(performance, "now").mockImplementation(() => now)
        const watch = LoopWatch.make({ every: (_ms, run) => (tick = run, () => {}), guard: (run) => run(), failed: () => {} }, context)
        assert.strictEqual(watch.late(99), 0)
        // In time, early, 4 ms late, 300 ms late.
        for (const passed of [LoopWatch.TICK_MS, LoopWatch.TICK_MS - 1, LoopWatch.TICK_MS + 4, LoopWatch.TICK_MS + 300]) {
          now += passed
          tick()
        }
        clock.mockRestore()
        assert.closeTo(watch.late(100), 0.3, 0.001)
        assert.closeTo(watch.late(75), 0.004, 0.0001)
        assert.isBelow(watch.late(50), 0.000_001)
        const text = PrometheusText.format(Metric.snapshotUnsafe(context))
        for (const [bound, count] of [["0.001", 2], ["0.002", 2], ["0.005", 3], ["0.25", 3], ["1", 4], ["+Inf", 4]]) {
          assert.include(text, `gateway_event_loop_stall_seconds_bucket{le="${bound}"} ${count}\n`)
        }
        assert.include(text, "gateway_event_loop_stall_seconds_count 4\n")
      }).pipe(Effect.provideService(Metric.MetricRegistry, registry))
    }))
})
