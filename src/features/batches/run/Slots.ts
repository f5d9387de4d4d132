/** Room for calls, shared by all batches. What becomes free goes to the one that waits longest, so that batches take turns. */

interface Waiter {
  readonly given: () => void
  isGone: boolean
}

export class Slots {
  #free: number
  readonly #waiters: Array<Waiter> = []

  constructor(count: number) {
    this.#free = count
  }

  /** Takes one that is free; false: there is none. */
  take(): boolean {
    if (this.#free === 0) return false
    this.#free--
    return true
  }

  /** `given` is called with a slot taken for it, now or later. Answers the way to stop waiting. */
  wait(given: () => void): () => void {
    if (this.take()) {
      given()
      return () => {}
    }
    const waiter: Waiter = { given, isGone: false }
    this.#waiters.push(waiter)
    return () => {
      waiter.isGone = true
    }
  }

  give(): void {
    for (let next = this.#waiters.shift(); next !== undefined; next = this.#waiters.shift()) {
      if (next.isGone) continue
      next.given()
      return
    }
    this.#free++
  }
}
