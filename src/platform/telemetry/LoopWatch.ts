/**
 * How long the event loop keeps a timer waiting. The timer wakes the process fifty times a second, as Node's own monitor would, and
 * counts each wait in a histogram that can be summed over processes and subtracted over time.
 */
import type * as Context from "effect/Context"
import * as Metric from "effect/Metric"
import { createHistogram } from "node:perf_hooks"
import type { Ticker } from "#actors/Ticker.ts"

/** Between two looks, ms: a longer stall is always seen, a shorter one in proportion to its length. */
export const TICK_MS = 20
/** Seconds. */
const BOUNDARIES = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1]
const nanosPerMs = 1e6

export interface LoopWatch {
  /** Seconds that a percentile (1 to 100) of all looks since the start was late. */
  readonly late: (percentile: number) => number
  readonly stop: () => void
}

export const make = (ticker: Ticker, context: Context.Context<never>): LoopWatch => {
  const stalls = Metric.histogram("gateway_event_loop_stall_seconds", {
    description: `How late a timer of ${TICK_MS} ms was called: what held the event loop.`, boundaries: BOUNDARIES
  })
  // In the metrics from the first scrape on.
  stalls.valueUnsafe(context)
  const delays = createHistogram()
  let last = performance.now()
  const stop = ticker.every(TICK_MS, () => {
    const now = performance.now()
    const lateMs = Math.max(0, now - last - TICK_MS)
    last = now
    stalls.updateUnsafe(lateMs / 1000, context)
    // It counts from 1 on.
    delays.record(Math.max(1, Math.round(lateMs * nanosPerMs)))
  })
  return { late: (percentile) => delays.count === 0 ? 0 : delays.percentile(percentile) / (1000 * nanosPerMs), stop }
}
