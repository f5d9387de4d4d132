/**
 * A release that is sent again within the idempotency window, with the same idempotency key, gets the first answer again; any other
 * release of an ended lease is stale. Only this process remembers releases: on other nodes a repeat is stale, which does no harm.
 */
import type { LeaseClaim, ReleaseReason } from "#schemas/protocols/Lease.ts"

/** How long a release can be repeated, ms. */
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

  recall(claim: LeaseClaim, reason: ReleaseReason, idempotency: string | undefined): string | null {
    if (idempotency === undefined) return null
    const entry = this.entries.get(nameOf(claim, reason, idempotency))
    return entry === undefined || entry.until <= this.now() ? null : entry.body
  }

  remember(claim: LeaseClaim, reason: ReleaseReason, idempotency: string | undefined, body: string): void {
    if (idempotency === undefined) return
    if (this.entries.size >= capacity) this.entries.delete(this.entries.keys().next().value as string)
    this.entries.set(nameOf(claim, reason, idempotency), { until: this.now() + windowMs, body })
  }
}

const nameOf = ({ generation, keyId, keyPrint, owner }: LeaseClaim, reason: ReleaseReason, idempotency: string): string =>
  JSON.stringify([owner, keyId, keyPrint, generation, reason, idempotency])
