/** Which lines of a batch are over, told in any order; the cursor stands behind the last line before which all are over. Pure. */
import type { BatchCursor } from "#schemas/batches/Batch.ts"

export class Progress {
  /** By place in the order of the input, from the first line that is not over. */
  readonly #ends: Array<BatchCursor | null> = []
  #first = 0
  #passed = 0

  /** A line was begun; answers its place. */
  begin(): number {
    return this.#first + this.#ends.push(null) - 1
  }

  /** The line at this place is over; `next` is the line behind it. */
  end(place: number, next: BatchCursor): void {
    this.#ends[place - this.#first] = next
    while (this.#passed < this.#ends.length && this.#ends[this.#passed] !== null) this.#passed++
  }

  /** Where the cursor stands, once it has moved by `least` lines since the last answer; else null. */
  take(least: number): BatchCursor | null {
    if (this.#passed === 0 || this.#passed < least) return null
    const cursor = this.#ends[this.#passed - 1] ?? null
    this.#ends.splice(0, this.#passed)
    this.#first += this.#passed
    this.#passed = 0
    return cursor
  }
}
