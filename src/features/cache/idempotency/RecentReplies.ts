/**
 * Replies that may be asked for again within their window. Two generations, so that nothing is deleted one by one: when the young one is
 * as old as a window or holds half of the bytes, it becomes the old one, and the old one goes whole.
 */
import type { KeptReply } from "#src/features/cache/ports/Idempotency.ts"

export interface Recent {
  /** Of the body that was answered. */
  readonly digest: string
  readonly reply: KeptReply
  /** ms since the epoch. */
  readonly until: number
}

export class RecentReplies {
  private readonly maxBytes: number
  private readonly maxEntries: number
  private young = new Map<string, Recent>()
  private old = new Map<string, Recent>()
  private youngBytes = 0
  private bornAt = 0

  /** At most so many bytes of bodies and so many replies in both generations; a larger reply is not kept. */
  constructor(maxBytes: number, maxEntries: number) {
    this.maxBytes = maxBytes
    this.maxEntries = maxEntries
  }

  get(key: string, now: number): Recent | null {
    const known = this.young.get(key) ?? this.old.get(key)
    return known === undefined || known.until <= now ? null : known
  }

  put(key: string, recent: Recent, now: number, windowMs: number): void {
    const size = recent.reply.body.length
    const half = this.maxBytes / 2
    if (size > half) return
    if (this.young.size > 0 && (now - this.bornAt >= windowMs || this.youngBytes + size > half || this.young.size >= this.maxEntries / 2)) this.turn()
    if (this.young.size === 0) this.bornAt = now
    this.young.set(key, recent)
    this.youngBytes += size
  }

  /** Replies within their window. */
  size(now: number): number {
    let size = 0
    for (const map of [this.young, this.old]) for (const { until } of map.values()) if (until > now) size++
    return size
  }

  private turn(): void {
    this.old = this.young
    this.young = new Map()
    this.youngBytes = 0
  }
}
