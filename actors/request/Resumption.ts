/** Stream recovery: the taps of an answer that broke off mid-stream, and of the call that continues it. */
import type { AttemptEnd } from "#actors/request/steps/attemptValues.ts"
import type { Dialect, StreamTap, TapOptions } from "#actors/request/ports/Face.ts"

/** Made for requests under STREAM_RECOVERY_MIDSTREAM_ENABLED only. */
export class Resumption {
  /** The tap of the answer that broke off and is being continued. */
  broken: StreamTap | null = null

  /** The client's text so far; null when this answer cannot be continued. */
  partialTextOf(end: AttemptEnd): string | null {
    const tap = this.tapOf(end)
    return tap === null ? null : tap.partialText ?? null
  }

  /** The next call continues the answer of this attempt. */
  keep(end: AttemptEnd): void {
    this.broken = this.tapOf(end)
  }

  /** An attempt that failed before its stream began leaves the answer as it was. */
  private tapOf(end: AttemptEnd): StreamTap | null {
    return end.tap ?? this.broken
  }
}

/** The tap of the next call; `resumption` is null unless answers that break off are continued. */
export const tapOf = (resumption: Resumption | null, dialect: Dialect, asked: TapOptions): StreamTap => {
  if (resumption === null) return dialect.makeTap(asked)
  return resumption.broken === null ? dialect.makeRecoverableTap(asked) : dialect.continueTap(resumption.broken, asked)
}
