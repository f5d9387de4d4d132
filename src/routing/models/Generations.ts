/**
 * A bounded map of what routing remembers between requests. Two generations: when the young one is full it becomes the old one, and
 * the old one is dropped whole; what is read moves on. Nothing is deleted one by one, so no table is left half dead.
 */
export class Generations<V> {
  private readonly limit: number
  private young = new Map<string, V>()
  private old = new Map<string, V>()

  /** At most twice `limit` entries, never fewer than the newest `limit`. */
  constructor(limit: number) {
    this.limit = Math.max(1, limit)
  }

  get(key: string): V | undefined {
    const known = this.young.get(key)
    if (known !== undefined || this.old.size === 0) return known
    const older = this.old.get(key)
    if (older !== undefined) this.set(key, older)
    return older
  }

  set(key: string, value: V): void {
    if (this.young.size >= this.limit && !this.young.has(key)) {
      this.old = this.young
      this.young = new Map()
    }
    this.young.set(key, value)
  }

  /** Each key once. */
  *entries(): IterableIterator<[string, V]> {
    yield* this.young
    for (const entry of this.old) if (!this.young.has(entry[0])) yield entry
  }

  clear(): void {
    this.young = new Map()
    this.old = new Map()
  }

  get size(): number {
    let size = this.young.size
    for (const key of this.old.keys()) if (!this.young.has(key)) size++
    return size
  }
}
