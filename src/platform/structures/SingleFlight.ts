/**
 * Coalescing of equal calls: the first one is the leader, the others wait for its result. Plain callbacks, so that a call without
 * waiters costs one look-up.
 *
 * A flight ends exactly once: `resolve` (all waiters get its result), `failed` (the next waiter becomes the leader) or `release`
 * (there is nothing to share: every waiter calls on its own).
 */

export interface Waiter<A> {
  /** The result of the flight. */
  readonly share: (value: A) => void
  /** The previous leader failed, and this waiter is the leader now. */
  readonly lead: (flight: Flight<A>) => void
  /** Nothing will be shared: make the call alone. */
  readonly alone: () => void
}

/** Flights kept in one table before those that are over are left behind with it. */
const tableSize = 1_024

export class SingleFlight<A> {
  private flights = new Map<string, Flight<A>>()
  private limit = tableSize

  /**
   * The flight that the caller now leads, or null: then `waiter` waits and is called exactly once, unless it leaves. `mark`
   * describes the leader's request for others to compare.
   */
  enter(key: string, waiter: Waiter<A>, mark = ""): Flight<A> | null {
    const known = this.flights.get(key)
    if (known !== undefined && !known.over) {
      known.join(waiter)
      return null
    }
    const flight = new Flight<A>(this, key, mark)
    this.keep(flight)
    return flight
  }

  /** The running flight of a key. */
  get(key: string): Flight<A> | null {
    const known = this.flights.get(key)
    return known === undefined || known.over ? null : known
  }

  /** A waiter leaves, and is not called any more. */
  leave(key: string, waiter: Waiter<A>): void {
    this.get(key)?.leave(waiter)
  }

  /** Running flights. */
  get size(): number {
    let size = 0
    for (const flight of this.flights.values()) if (!flight.over) size++
    return size
  }

  /** Nothing is deleted one by one: a table of flights that are over is replaced by one of those that are not. */
  keep(flight: Flight<A>): void {
    if (this.flights.size >= this.limit) {
      const running = new Map<string, Flight<A>>()
      for (const [key, one] of this.flights) if (!one.over) running.set(key, one)
      this.flights = running
      this.limit = Math.max(tableSize, running.size * 2)
    }
    this.flights.set(flight.key, flight)
  }
}

export class Flight<A> {
  over = false
  readonly key: string
  readonly mark: string
  /** Called when the last waiter has left. */
  onAbandoned: (() => void) | null = null
  private readonly table: SingleFlight<A>
  private waiting: Array<Waiter<A>> = []

  constructor(table: SingleFlight<A>, key: string, mark: string) {
    this.table = table
    this.key = key
    this.mark = mark
  }

  get waiters(): number {
    return this.waiting.length
  }

  /** First come, first served. */
  join(waiter: Waiter<A>): void {
    this.waiting.push(waiter)
  }

  /** The waiter is not called any more. */
  leave(waiter: Waiter<A>): void {
    const at = this.waiting.indexOf(waiter)
    if (at < 0) return
    this.waiting.splice(at, 1)
    if (this.waiting.length === 0) this.onAbandoned?.()
  }

  resolve(value: A): void {
    for (const waiter of this.close()) waiter.share(value)
  }

  /** The next waiter leads; the others wait for it. */
  failed(): void {
    const [next, ...rest] = this.close()
    if (next === undefined) return
    const flight = new Flight<A>(this.table, this.key, this.mark)
    flight.waiting = rest
    this.table.keep(flight)
    next.lead(flight)
  }

  release(): void {
    for (const waiter of this.close()) waiter.alone()
  }

  private close(): Array<Waiter<A>> {
    this.over = true
    const { waiting } = this
    this.waiting = []
    return waiting
  }
}
