/**
 * Notices that this process stood still: a stopped container, a suspended machine, a loop that was blocked for seconds. What the node
 * acts on may be old then, so requests wait until it has looked at the records once more. A timer ticks; one that comes far too late,
 * or is not seen to come, is the sign. Pure but for the clock that it is given.
 */

/** Between two ticks, ms. */
export const TICK_MS = 250
/** A process without a tick for this long stood still, ms. A serving node must learn of a change within this time. */
export const STOOD_MS = 2_000
/** Longest wait of requests for the look, ms; records that do not answer by then count as unavailable. */
export const HOLD_MS = 2_000

export class StandStill {
  #tickedAt: number
  /** When the process was found to have stood still; null = it acts on what is known. */
  #since: number | null = null
  readonly #now: () => number
  readonly #found: () => void

  /** `now`: ms since the epoch, which advances while the machine is suspended. `found` is called once for each time it stood still. */
  constructor(now: () => number, found: () => void) {
    this.#now = now
    this.#found = found
    this.#tickedAt = now()
  }

  readonly tick = (): void => {
    const at = this.#now()
    if (at - this.#tickedAt > STOOD_MS) {
      this.#since = at
      this.#found()
    }
    this.#tickedAt = at
  }

  /** A request may come before the late tick does. */
  readonly isBehind = (): boolean => {
    const at = this.#now()
    if (at - this.#tickedAt > STOOD_MS) this.tick()
    return this.#since !== null && at - this.#since < HOLD_MS
  }

  /** ms that a request still waits at most. */
  get leftMs(): number {
    return this.#since === null ? 0 : Math.max(0, Math.min(HOLD_MS, this.#since + HOLD_MS - this.#now()))
  }

  /** To be taken before a look at the records and given back after it: a look that began before the process stood still proves nothing. */
  readonly look = (): number | null => this.#since

  readonly looked = (since: number | null): boolean => {
    if (since === null || since !== this.#since) return false
    this.#since = null
    return true
  }
}
