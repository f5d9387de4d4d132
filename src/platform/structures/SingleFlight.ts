/**
 * Calls that want the same thing: the first one flies, the others wait on the ground for what it brings. Plain callbacks, so that
 * a flight nobody joins costs one look-up.
 *
 * A flight ends exactly once: `landed` (everybody is given what it brought), `failed` (the next in line flies) or `dispersed`
 * (there is nothing to share: everybody flies alone).
 */

export interface Waiter<A> {
  /** What the flight brought. */
  readonly share: (value: A) => void
  /** The flight before this one failed, and this one flies now. */
  readonly lead: (flight: Flight<A>) => void
  /** Nothing will be shared: go alone. */
  readonly alone: () => void
}

/** Flights kept in one table before those that are over are left behind with it. */
const tableSize = 1_024

export class SingleFlight<A> {
  private flights = new Map<string, Flight<A>>()
  private limit = tableSize

  /**
   * The flight that the caller now flies, or null: then `passenger` waits and hears exactly once, unless it leaves. `mark` is what the
   * first one says about itself for others to compare.
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

  /** A passenger that waits goes away, and hears nothing any more. */
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
  /** Told when the last one that waited has gone away. */
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

  /** The passenger hears nothing any more. */
  leave(waiter: Waiter<A>): void {
    const at = this.waiting.indexOf(waiter)
    if (at < 0) return
    this.waiting.splice(at, 1)
    if (this.waiting.length === 0) this.onAbandoned?.()
  }

  resolve(value: A): void {
    for (const waiter of this.close()) waiter.share(value)
  }

  /** The next in line flies; the others wait for it. */
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
    if (this.over) return []
    this.over = true
    const { waiting } = this
    this.waiting = []
    return waiting
  }
}
