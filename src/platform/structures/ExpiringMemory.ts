/** Values that one node remembers, bounded by number, size and age; the oldest goes first. */

export interface Bounds {
  readonly entries: number
  /** Of all values together. */
  readonly size: number
  /** Of one value; a larger one is not remembered. */
  readonly each: number
  readonly ttlMs: number
}

export interface Held<V> {
  readonly value: V
  /** ms since the epoch. */
  readonly until: number
}

export class ExpiringMemory<V> {
  private readonly now: () => number
  private readonly bounds: Bounds
  private readonly sizeOf: (value: V) => number
  /** In the order of their coming. All live equally long, so the first one expires first. */
  private readonly held = new Map<string, Held<V>>()
  private size = 0

  constructor(now: () => number, bounds: Bounds, sizeOf: (value: V) => number) {
    this.now = now
    this.bounds = bounds
    this.sizeOf = sizeOf
  }

  /** False when the value is too large to be remembered. */
  put(key: string, value: V): boolean {
    const size = this.sizeOf(value)
    if (size > this.bounds.each) return false
    this.drop(key)
    this.held.set(key, { value, until: this.now() + this.bounds.ttlMs })
    this.size += size
    for (const [oldest, { until }] of this.held) {
      if (this.held.size <= this.bounds.entries && this.size <= this.bounds.size && until > this.now()) break
      this.drop(oldest)
    }
    return true
  }

  get(key: string): V | null {
    const known = this.held.get(key)
    return known === undefined || known.until <= this.now() ? null : known.value
  }

  /** Those that are not over, the newest first. */
  list(): ReadonlyArray<Held<V>> {
    const now = this.now()
    return [...this.held.values()].filter(({ until }) => until > now).reverse()
  }

  /** Forgets each value that `isMeant`; answers how many. */
  forget(isMeant: (value: V) => boolean): number {
    let count = 0
    for (const [key, { value }] of this.held) {
      if (!isMeant(value)) continue
      this.drop(key)
      count++
    }
    return count
  }

  private drop(key: string): void {
    const known = this.held.get(key)
    if (known === undefined) return
    this.held.delete(key)
    this.size -= this.sizeOf(known.value)
  }
}
