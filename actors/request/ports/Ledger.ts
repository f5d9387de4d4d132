/**
 * The ledger as the hot path sees it: two synchronous calls per attempt, durable by the append-only journal.
 *
 * Every upstream attempt that started has exactly one durable row. The start record is on disk before the first
 * upstream byte leaves (`open` calls back after the group commit), the settled row is journaled in the same or the next turn,
 * inserted in batches keyed by attemptId, and the journal is truncated only behind acknowledged inserts.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { AttemptStart, LedgerRow } from "#schemas/records/LedgerRow.ts"

export interface Reconciliation {
  /** Attempts opened since the journal's first record, this process and those replayed. */
  readonly started: number
  readonly settled: number
  /** Settled rows that are in the journal and not yet acknowledged by Postgres. */
  readonly journaled: number
  /** Rows acknowledged by Postgres. */
  readonly stored: number
  /** Attempts that are running now. */
  readonly live: number
  /** started - settled - live: anything but 0 is a defect. */
  readonly gap: number
  readonly oldestPendingMs: number
  readonly lastError: string | null
  /** Why no attempt can be opened: the last write to the journal failed. Absent or null while it works. */
  readonly refusing?: string | null
}

/** What waits for its start to be on disk. An object, because a bound function cost each request 50 bytes. */
export interface Opening {
  /** It is on disk; or it cannot be put there, and nothing may be sent. */
  go(error: LedgerUnavailable | null): void
}

export class Ledger extends Context.Service<Ledger, {
  /** Journals the start and lets the opening go once it is on disk (same turn's group commit). Never throws; a full disk is `go(error)`. */
  readonly open: (start: AttemptStart, opening: Opening) => void
  /** Settles an opened attempt; a second settle of the same id is a defect and is ignored with a log line. */
  readonly settle: (row: LedgerRow) => void
  /** Journals what is queued now instead of at the end of this turn: from here on it outlives the process. Never throws. */
  readonly journal: () => void
  readonly reconciliation: () => Reconciliation
  /** Waits until everything settled so far has been acknowledged by Postgres, or the time is over. Answers the rows left. */
  readonly flush: (timeoutMs: number) => Effect.Effect<number>
}>()("gateway/ports/Ledger") {}

/** The journal cannot be written: the request is refused rather than served unaccounted. */
export class LedgerUnavailable extends Schema.TaggedError<LedgerUnavailable>()("LedgerUnavailable", { message: Schema.String }) {}
