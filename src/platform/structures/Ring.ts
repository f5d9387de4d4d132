/**
 * The newest members of an endless row: one array that is written round and round. It allocates nothing and hashes nothing per member,
 * so it suits data that every request writes and that is rarely read; a search is linear.
 */
export class Ring<A> {
  private readonly limit: number
  private readonly held: Array<A> = []
  /** Place of the next member. */
  private next = 0

  constructor(limit: number) {
    this.limit = Math.max(1, limit)
  }

  push(member: A): void {
    this.held[this.next] = member
    this.next = (this.next + 1) % this.limit
  }

  /** The newest one that fits. */
  find(fits: (member: A) => boolean): A | undefined {
    for (let back = 1; back <= this.held.length; back++) {
      const member = this.at(back)
      if (fits(member)) return member
    }
    return undefined
  }

  /** At most `count`, newest first. */
  newest(count: number): Array<A> {
    return Array.from({ length: Math.max(0, Math.min(count, this.held.length)) }, (_, i) => this.at(i + 1))
  }

  /** 1 = the newest. */
  private at(back: number): A {
    const { held } = this
    return held[(this.next - back + held.length) % held.length] as A
  }
}
