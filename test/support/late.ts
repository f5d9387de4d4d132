/**
 * What a shared machine adds to any measured time. A bound on a delay is the promise, plus what this process itself was late:
 *
 *     const late = watchLate()
 *     ...
 *     expect(took).toBeLessThan(50 + late())
 */
import { monitorEventLoopDelay } from "node:perf_hooks"

/** Between two looks at the loop (ms); a loop on time is late by nothing. */
const everyMs = 5

/** Answers twice the longest time (ms) for which this process did not come to its turn since: there are two ways, here and back. */
export const watchLate = (): (() => number) => {
  const histogram = monitorEventLoopDelay({ resolution: everyMs })
  histogram.enable()
  return () => {
    histogram.disable()
    return 2 * histogram.max / 1e6
  }
}

/** Processor time of some work in this process (ms): others on the machine do not count. */
export const cpuMs = (work: () => unknown): number => {
  const before = process.cpuUsage()
  work()
  const { system, user } = process.cpuUsage(before)
  return (system + user) / 1_000
}
