/** The newest and most used answers of this node, bounded by entries and by bytes; the least recently used goes first. */
import type { CachedAnswer, Forgotten } from "#src/features/cache/ports/ResponseCache.ts"

export interface Bounds {
  readonly maxEntries: number
  readonly maxBytes: number
}

/** What an entry takes beside its body, bytes. */
const overhead = 512

const sizeOf = (answer: CachedAnswer): number => answer.body.length + overhead

export class MemoryCache {
  private readonly bounds: () => Bounds
  /** In the order of use, the oldest first. */
  private readonly answers = new Map<string, CachedAnswer>()
  private held = 0

  constructor(bounds: () => Bounds) {
    this.bounds = bounds
  }

  get size(): number {
    return this.answers.size
  }

  /** Bytes of bodies and what stands beside them. */
  get bytes(): number {
    return this.held
  }

  get(signature: string, now: number): CachedAnswer | null {
    const known = this.answers.get(signature)
    if (known === undefined) return null
    this.answers.delete(signature)
    if (known.expiresAt <= now) {
      this.held -= sizeOf(known)
      return null
    }
    this.answers.set(signature, known)
    return known
  }

  /** An answer larger than the whole cache is not kept. */
  set(answer: CachedAnswer): void {
    this.delete(answer.signature)
    const { maxBytes, maxEntries } = this.bounds()
    const size = sizeOf(answer)
    if (size > maxBytes || maxEntries < 1) return
    this.answers.set(answer.signature, answer)
    this.held += size
    for (const [signature] of this.answers) {
      if (this.answers.size <= maxEntries && this.held <= maxBytes) return
      this.delete(signature)
    }
  }

  delete(signature: string): void {
    const known = this.answers.get(signature)
    if (known === undefined) return
    this.answers.delete(signature)
    this.held -= sizeOf(known)
  }

  forget(what: Forgotten): void {
    if (what._tag === "All") {
      this.answers.clear()
      this.held = 0
    } else if (what._tag === "Signature") this.delete(what.signature)
    else {
      for (const answer of this.answers.values()) {
        const goes = what._tag === "Model" ? answer.model === what.model : answer.createdAt <= what.storedBefore
        if (goes) this.delete(answer.signature)
      }
    }
  }
}
