/**
 * One shared timer wheel for every paced stream: a single interval wakes at most once per millisecond and fires what is due.
 *
 * An entry keeps its own fractional deadline, so a stream's pace does not drift: the owner adds its interval to the last
 * deadline, never to "now". Cancelled entries are dropped when their slot comes round.
 */
import type { Ticker } from "#actors/Ticker.ts"

/** Wheel size in slots of one millisecond; longer waits simply stay for further rounds. */
const SLOTS = 1024
const MASK = SLOTS - 1

export interface PacerEntry {
  /** Milliseconds on the pacer's clock; owned by the pacer while scheduled. */
  deadline: number
  /** Called once when due, with the pacer's present. */
  readonly fire: (now: number) => void
  scheduled: boolean
}

export class Pacer {
  readonly now: () => number
  readonly #ticker: Ticker
  readonly #slots: Array<Array<PacerEntry>> = Array.from({ length: SLOTS }, () => [])
  #spare: Array<PacerEntry> = []
  #last = 0
  #size = 0
  #stop: (() => void) | null = null

  /** `now` is a monotonic clock in milliseconds. */
  constructor(now: () => number, ticker: Ticker) {
    this.now = now
    this.#ticker = ticker
  }

  /** Entries waiting, cancelled ones included until their slot comes round. */
  get size(): number {
    return this.#size
  }

  entry(fire: (now: number) => void): PacerEntry {
    return { deadline: 0, fire, scheduled: false }
  }

  /** Fires `entry` once at `deadline`. An entry waits for one deadline at a time: a second call before it fired is ignored. */
  schedule(entry: PacerEntry, deadline: number): void {
    if (entry.scheduled) return
    entry.deadline = deadline
    entry.scheduled = true
    if (this.#stop === null) {
      this.#last = Math.floor(this.now())
      this.#stop = this.#ticker.every(1, () => this.tick())
    }
    this.#place(entry)
    this.#size++
  }

  /** Final: a cancelled entry must not be scheduled again. */
  cancel(entry: PacerEntry): void {
    entry.deadline = Infinity
  }

  /** Fires everything due. The interval calls it; a test with its own clock may, too. */
  tick(): void {
    const now = this.now()
    const until = Math.floor(now)
    if (until > this.#last) {
      // A stalled loop may have skipped rounds: each slot needs at most one visit.
      const from = Math.max(this.#last + 1, until - MASK)
      this.#last = until
      for (let slot = from; slot <= until; slot++) this.#visit(slot & MASK, until, now)
    }
    if (this.#size === 0) this.close()
  }

  close(): void {
    this.#stop?.()
    this.#stop = null
  }

  #place(entry: PacerEntry): void {
    // The slot of the first whole millisecond at or after the deadline, and never one the wheel has already passed.
    const slot = Math.max(Math.ceil(Math.min(entry.deadline, Number.MAX_SAFE_INTEGER)), this.#last + 1)
    this.#slots[slot & MASK]!.push(entry)
  }

  #visit(index: number, until: number, now: number): void {
    const due = this.#slots[index]!
    if (due.length === 0) return
    this.#slots[index] = this.#spare
    for (const entry of due) {
      if (entry.deadline === Infinity) {
        entry.scheduled = false
        this.#size--
      } else if (Math.ceil(entry.deadline) <= until) {
        entry.scheduled = false
        this.#size--
        try {
          entry.fire(now)
        } catch (error) {
          this.#ticker.failed(error)
        }
      } else {
        this.#place(entry)
      }
    }
    due.length = 0
    this.#spare = due
  }
}
