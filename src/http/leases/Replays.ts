/**
 * A release that is sent again within the idempotency window, with the same idempotency key, is answered as the first time; any other
 * release of a lease that has ended is a stale one (supplement 4.2). In this process only: elsewhere it is stale, which harms nobody.
 */
import type { Claim, ReleaseReason } from "#schemas/protocols/Lease.ts"

/** Supplement 6.2, ms. */
export const windowMs = 5_000
const capacity = 1_000

interface Entry {
  readonly until: number
  readonly body: string
}

export class Replays {
  private readonly now: () => number
  private readonly entries = new Map<string, Entry>()

  constructor(now: () => number) {
    this.now = now
  }

  recall(claim: Claim, reason: ReleaseReason, idempotency: string | undefined): string | null {
    if (idempotency === undefined) return null
    const entry = this.entries.get(nameOf(claim, reason, idempotency))
    return entry === undefined || entry.until <= this.now() ? null : entry.body
  }

  remember(claim: Claim, reason: ReleaseReason, idempotency: string | undefined, body: string): void {
    if (idempotency === undefined) return
    if (this.entries.size >= capacity) this.entries.delete(this.entries.keys().next().value as string)
    this.entries.set(nameOf(claim, reason, idempotency), { until: this.now() + windowMs, body })
  }
}

const nameOf = ({ generation, keyId, keyPrint, owner }: Claim, reason: ReleaseReason, idempotency: string): string =>
  JSON.stringify([owner, keyId, keyPrint, generation, reason, idempotency])
