/** Order statistics of measured rounds. Percentiles are nearest-rank: always a value that was measured. */

/** A growing list of numbers without an allocation per sample. */
export class Samples {
  #values = new Float64Array(4096)
  #length = 0

  get length(): number {
    return this.#length
  }

  add(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = new Float64Array(this.#values.length * 2)
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[this.#length++] = value
  }

  sorted(): Float64Array {
    return this.#values.slice(0, this.#length).sort()
  }
}

/** Nearest-rank percentile of ascending values; `p` in 0..100. NaN when there is nothing to rank. */
export const percentile = (ascending: ArrayLike<number>, p: number): number => {
  if (ascending.length === 0) return Number.NaN
  const rank = Math.ceil((p / 100) * ascending.length)
  const index = Math.min(Math.max(rank, 1), ascending.length) - 1
  return ascending[index] ?? Number.NaN
}

/** Middle value; the mean of the two middle values when their count is even. NaN for an empty list. */
export const median = (values: ReadonlyArray<number>): number => {
  if (values.length === 0) return Number.NaN
  const ascending = Float64Array.from(values).sort()
  const middle = ascending.length >> 1
  const upper = ascending[middle] ?? Number.NaN
  return ascending.length % 2 === 1 ? upper : ((ascending[middle - 1] ?? Number.NaN) + upper) / 2
}

export interface Summary {
  readonly median: number
  readonly min: number
  readonly max: number
  readonly rounds: number
}

export const summarize = (values: ReadonlyArray<number>): Summary => ({
  median: median(values),
  min: values.length === 0 ? Number.NaN : Math.min(...values),
  max: values.length === 0 ? Number.NaN : Math.max(...values),
  rounds: values.length
})

/** Where the tail of a latency distribution lies, in the unit of its samples. */
export interface Tail {
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
  readonly count: number
}

export const tail = (samples: Samples): Tail => {
  const ascending = samples.sorted()
  return {
    p50: percentile(ascending, 50),
    p90: percentile(ascending, 90),
    p99: percentile(ascending, 99),
    max: percentile(ascending, 100),
    count: ascending.length
  }
}
