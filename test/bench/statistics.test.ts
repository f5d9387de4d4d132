import { describe, expect, it } from "vitest"
import { median, percentile, Samples, summarize, tail } from "#bench/http/report/statistics.ts"

const hundred = Array.from({ length: 100 }, (_, index) => index + 1)

describe("statistics", () => {
  it("a percentile is the nearest rank: always a value that was measured", () => {
    expect(percentile(hundred, 50)).toBe(50)
    expect(percentile(hundred, 99)).toBe(99)
    expect(percentile(hundred, 99.5)).toBe(100)
    expect(percentile(hundred, 0)).toBe(1)
    expect(percentile(hundred, 100)).toBe(100)
    expect(percentile([7], 99)).toBe(7)
  })

  it("nothing measured has no percentile and no median", () => {
    expect(percentile([], 50)).toBeNaN()
    expect(median([])).toBeNaN()
    expect(summarize([]).median).toBeNaN()
  })

  it("the median of an even count is the mean of the two in the middle, whatever their order", () => {
    expect(median([4, 1, 3, 2])).toBe(2.5)
    expect(median([10, 9, 100])).toBe(10)
  })

  it("a summary keeps the range and the number of rounds", () => {
    expect(summarize([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3, rounds: 3 })
  })

  it("samples grow past their first buffer and keep every value", () => {
    const samples = new Samples()
    for (let value = 10_000; value > 0; value--) samples.add(value)
    expect(tail(samples)).toEqual({ p50: 5_000, p90: 9_000, p99: 9_900, max: 10_000, count: 10_000 })
  })
})
