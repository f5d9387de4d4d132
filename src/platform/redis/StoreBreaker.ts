/**
 * The breaker on the shared store itself: so many calls in a row that found nobody, and everybody else is refused at once until
 * a probe is answered. Pure: whoever owns it sends the probes.
 */

/** Calls in a row without an answer after which nobody is made to wait any more. */
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

  /** A call that nobody answered; true when this opened the breaker. */
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
