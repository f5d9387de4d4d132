import type * as Metric from "effect/Metric"

/** Counts of values by bucket. The registry's own histogram is looked up there for each value, which costs more than the count. */
export class Histogram {
  readonly #bounds: ReadonlyArray<number>
  /** One for each bound, and one for what is above them all. */
  readonly #counts: Array<number>
  readonly #begin: (histogram: Histogram) => void
  #count = 0
  #sum = 0
  #min = Number.MAX_VALUE
  #max = -Number.MAX_VALUE

  /** `bounds`: the largest value of each bucket, upwards. `begin` is called before the first value. */
  constructor(bounds: ReadonlyArray<number>, begin: (histogram: Histogram) => void) {
    this.#bounds = bounds
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0)
    this.#begin = begin
  }

  observe(value: number): void {
    if (this.#count === 0) this.#begin(this)
    const bounds = this.#bounds
    let at = 0
    while (at < bounds.length && value > bounds[at]!) at++
    this.#counts[at]!++
    this.#count++
    this.#sum += value
    if (value < this.#min) this.#min = value
    if (value > this.#max) this.#max = value
  }

  get state(): Metric.HistogramState {
    let below = 0
    const buckets = this.#bounds.map((bound, at): [number, number] => [bound, below += this.#counts[at]!])
    return { buckets, count: this.#count, sum: this.#sum, min: this.#min, max: this.#max }
  }
}
