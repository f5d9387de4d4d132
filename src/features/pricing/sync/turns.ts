/** When a list is read again: an interval after the last time, and sooner after a failure. Pure. */
import * as Schema from "effect/Schema"

export const Turn = Schema.Struct({
  /** When the sources were read last, or should have been, ms since the epoch; null before the first time. */
  at: Schema.NullOr(Schema.Finite),
  /** In a row. */
  failures: Schema.Int,
  /** Why the last time failed; null when it did not. */
  error: Schema.NullOr(Schema.String)
})
export interface Turn extends Schema.Schema.Type<typeof Turn> {}

export const none: Turn = { at: null, failures: 0, error: null }

/** Wait after the first failure, ms; each further one doubles it. */
export const RETRY_MS = 300_000
/** Longest wait after a failure, ms, where the interval is not shorter. */
const RETRY_MOST_MS = 6 * 3_600_000
/** What clocks of nodes may differ by, ms. */
const SKEW_MS = 60_000

const decode = Schema.decodeUnknownOption(Turn)

/** Of a stored document; one that cannot be read counts as none. */
export const turnOf = (stored: unknown): Turn => {
  const read = decode(stored)
  return read._tag === "Some" ? read.value : none
}

const waitMs = ({ failures }: Turn, everyMs: number): number =>
  failures <= 0 ? everyMs : Math.min(everyMs, RETRY_MOST_MS, RETRY_MS * 2 ** Math.min(failures - 1, 20))

/** ms since the epoch. A clock that was set back must not stop the reading. */
export const nextAt = (turn: Turn, everyMs: number, now: number): number =>
  turn.at === null || turn.at > now + SKEW_MS ? now : turn.at + waitMs(turn, everyMs)

export const isDue = (turn: Turn, everyMs: number, now: number): boolean => nextAt(turn, everyMs, now) <= now
