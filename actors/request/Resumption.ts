/** Stream recovery: another call continues an answer that broke off mid-stream, a bounded number of times. */
import type { AttemptEnd } from "./Attempt.ts"
import type { Recovery } from "./Inbound.ts"
import type { Dialect, StreamTap } from "#actors/request/ports/Face.ts"

/** Calls that may go on with one answer. */
const maxContinuations = 2

/** Made for requests under STREAM_RECOVERY_MIDSTREAM_ENABLED only. */
export class Resumption {
  /** The tap of the answer that broke off and is being gone on with. */
  broken: StreamTap | null = null
  private readonly stopsAtEmpty: boolean
  private calls = 0

  constructor({ stopsAtEmpty }: Recovery) {
    this.stopsAtEmpty = stopsAtEmpty
  }

  /** Takes up the answer of an attempt that was cut off after the commit point; false when it cannot be gone on with. */
  take(end: AttemptEnd): boolean {
    if (!end.committed || end.outcome !== "upstream-reset") return false
    const tap = end.tap ?? this.broken
    const text = tap === null ? null : tap.partialText ?? null
    if (tap === null || text === null || this.calls >= maxContinuations) return false
    if (this.stopsAtEmpty && this.broken !== null && text === this.broken.partialText) return false
    this.calls++
    this.broken = tap
    return true
  }
}

/** The tap of the next call; `resumption` is null when an answer that breaks off is not gone on with. */
export const tapOf = (resumption: Resumption | null, dialect: Dialect, forwardUsage: boolean): StreamTap => {
  if (resumption === null) return dialect.makeTap({ forwardUsage })
  return resumption.broken === null ? dialect.makeRecoverableTap({ forwardUsage }) : dialect.continueTap(resumption.broken)
}
