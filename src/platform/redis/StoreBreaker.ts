/**
 * The breaker on the shared store itself: after so many unanswered calls in a row every other call is refused at once until a
 * probe is answered. Pure: its owner sends the probes.
 */

/** Calls in a row without an answer after which no caller waits any more. */
export const OPENS_AFTER = 3
/** Time between two probes of an open breaker, ms. */
export const PROBE_EVERY_MS = 1_000

export type State = "closed" | "open" | "half-open"

export class StoreBreaker {
  state: State = "closed"
  #failures = 0

  /** Whether a call may go out. */
  get lets(): boolean {
    return this.state === "closed"
  }

  /** An answer, also one to a probe; true when this closed the breaker. */
  answered(): boolean {
    this.#failures = 0
    if (this.state === "closed") return false
    this.state = "closed"
    return true
  }

  /** A call without an answer; true when this opened the breaker. */
  unanswered(): boolean {
    this.#failures++
    if (this.state === "half-open") {
      this.state = "open"
      return false
    }
    if (this.state === "open" || this.#failures < OPENS_AFTER) return false
    this.state = "open"
    return true
  }

  /** Begins a probe; false when one runs or none is needed. */
  probe(): boolean {
    if (this.state !== "open") return false
    this.state = "half-open"
    return true
  }
}
