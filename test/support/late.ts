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

/** A machine that is shared charges even processor time for what others do, but hardly three times in a row. */
const tries = 3

const onceMs = (work: () => unknown): number => {
  const before = process.cpuUsage()
  work()
  const { system, user } = process.cpuUsage(before)
  return (system + user) / 1_000
}

/** Processor time of some work in this process (ms), the least of three tries: others on the machine do not count. */
export const cpuMs = (work: () => unknown): number => Math.min(...Array.from({ length: tries }, () => onceMs(work)))

/**
 * How many times the processor time of `few` it takes to do `times` as many. Measured again while it is above `bound`: what is slow by chance
 * is quick in another try, what grows faster than its size is slow in each.
 */
export const growthOf = (work: (n: number) => unknown, few: number, times: number, bound: number): number => {
  work(few)
  let least = Infinity
  for (let i = 0; i < tries && least >= bound; i++) least = Math.min(least, onceMs(() => work(few * times)) / cpuMs(() => work(few)))
  return least
}

/** Processor time that is compared when a shorter one grew too fast: all of a short one may be one collection of garbage, or none. */
const enoughMs = 40

/** The same, and once more from a size on whose time is long enough to be compared. */
export const steadyGrowthOf = (work: (n: number) => unknown, few: number, times: number, bound: number): number => {
  const first = growthOf(work, few, times, bound)
  if (first < bound) return first
  let n = few
  while (n < few * 32 && cpuMs(() => work(n)) < enoughMs) n *= 2
  return growthOf(work, n, times, bound)
}
