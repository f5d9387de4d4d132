/**
 * The attempts that run, by id, while thousands come and go each second: a `Map` would leave dead hash tables in the old
 * generation that keep promoting the next ones. Open addressing in one array; the gap of a removed member is filled from behind,
 * so that no tombstones remain.
 */

/** A member keeps its hash, so that neither its removal nor a bigger table reads its id again. */
export interface TableMember {
  readonly id: string
  readonly hash: number
}

/** Characters of an id that are looked at: ids differ at their end. */
const TAIL = 8
const SMALLEST = 256

/** The hash that a member of this id must have. */
export const hashOf = (id: string): number => {
  let hash = id.length
  for (let i = Math.max(0, id.length - TAIL); i < id.length; i++) hash = Math.imul(hash, 31) + id.charCodeAt(i) | 0
  hash = Math.imul(hash, 0x9e3779b1)
  return hash ^ (hash >>> 15)
}

export class AttemptTable<T extends TableMember> implements Iterable<T> {
  #slots: Array<T | undefined> = Array.from({ length: SMALLEST }, () => undefined)
  #mask = SMALLEST - 1
  #size = 0

  get size(): number {
    return this.#size
  }

  get(id: string): T | undefined {
    return this.#slots[this.#slotOf(id, hashOf(id))]
  }

  /** False, and nothing is done, when there is a member of that id. */
  add(member: T): boolean {
    const slot = this.#slotOf(member.id, member.hash)
    if (this.#slots[slot] !== undefined) return false
    this.#slots[slot] = member
    if (++this.#size * 2 > this.#mask) this.#grow()
    return true
  }

  /** False when this very member is not there. */
  remove(member: T): boolean {
    const slots = this.#slots
    const mask = this.#mask
    let hole = this.#slotOf(member.id, member.hash)
    if (slots[hole] !== member) return false
    for (let slot = (hole + 1) & mask; slots[slot] !== undefined; slot = (slot + 1) & mask) {
      const other = slots[slot]!
      // It may move only when the hole is on its way from its own slot.
      if (((slot - other.hash) & mask) < ((slot - hole) & mask)) continue
      slots[hole] = other
      hole = slot
    }
    slots[hole] = undefined
    this.#size--
    return true
  }

  /** Members in no particular order; nothing may be added or removed meanwhile. */
  *[Symbol.iterator](): Iterator<T> {
    for (const member of this.#slots) if (member !== undefined) yield member
  }

  /** Slot of the member with this id, or the empty one where it would be. */
  #slotOf(id: string, hash: number): number {
    const slots = this.#slots
    let slot = hash & this.#mask
    for (let member = slots[slot]; member !== undefined && (member.hash !== hash || member.id !== id); member = slots[slot]) {
      slot = (slot + 1) & this.#mask
    }
    return slot
  }

  #grow(): void {
    const old = this.#slots
    this.#mask = this.#mask * 2 + 1
    this.#slots = Array.from({ length: this.#mask + 1 }, () => undefined)
    for (const member of old) if (member !== undefined) this.#slots[this.#slotOf(member.id, member.hash)] = member
  }
}
