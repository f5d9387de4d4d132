/**
 * When a segment may go: it is the oldest, every attempt in it is settled, and every settle is in the store. Oldest first,
 * because a start must never outlive its settle on disk. A few long streams do not pin the disk: once they are all that
 * holds an old segment, their starts are written again into the newest one.
 */
import * as fs from "node:fs"
import * as Effect from "effect/Effect"
import type { DeliveryReport } from "./Delivery.ts"
import type * as Journal from "#src/platform/accounting/journal/Journal.ts"
import type { RecordWriter } from "#src/platform/accounting/journal/JournalRecord.ts"

/** Segments that may stay behind the current one before live starts are carried forward. */
const PINNED_SEGMENTS = 3

interface Held {
  readonly settled: boolean
  segment: Journal.Segment | null
  readonly encode: (writer: RecordWriter, segment: Journal.Segment) => boolean
  readonly unwritten: () => void
}

export interface Ledgered {
  readonly journal: Journal.Journal
  readonly live: Iterable<Held>
  readonly report: DeliveryReport
}

/** The start of an attempt that still runs, on its way to the newest segment. */
class Carried implements Journal.PendingWrite {
  readonly #attempt: Held
  readonly #from: Journal.Segment
  constructor(attempt: Held, from: Journal.Segment) {
    this.#attempt = attempt
    this.#from = from
  }
  encode(writer: RecordWriter, segment: Journal.Segment): boolean {
    // A settle brings its start along.
    if (this.#attempt.settled || this.#attempt.segment !== this.#from) return false
    return this.#attempt.encode(writer, segment)
  }
  written(segment: Journal.Segment): void {
    this.#from.liveStarts--
    segment.liveStarts++
    this.#attempt.segment = segment
  }
  failed(): boolean {
    this.#attempt.unwritten()
    this.#from.carried = false
    return false
  }
}

/** Removes the segments that may go; `acknowledged` is the highest ordinal that the store has. */
export const sweep = (ledger: Ledgered, acknowledged: number): Effect.Effect<void> =>
  Effect.gen(function*() {
    const { segments } = ledger.journal
    while (segments.length > 1) {
      const oldest = segments[0]!
      if (oldest.lastOrdinal > acknowledged) return
      if (oldest.liveStarts > 0) {
        if (segments.length <= PINNED_SEGMENTS + 1 || oldest.carried) return
        oldest.carried = true
        for (const attempt of ledger.live) {
          if (attempt.segment === oldest) ledger.journal.append(new Carried(attempt, oldest))
        }
        return
      }
      // Not interruptible: the lock is given back only when no removal is under way.
      const failed = yield* Effect.uninterruptible(Effect.callback<Error | null>((resume) => {
        fs.rm(oldest.path, { force: true }, (error) => resume(Effect.succeed(error)))
      }))
      if (failed !== null) {
        ledger.report("error", "a journal segment that is no longer needed could not be removed", { segment: oldest.path, error: failed.message })
        return
      }
      if (segments[0] === oldest) segments.shift()
    }
  })

/** Removes every segment, when all of it is in the store. */
export const removeAll = (ledger: Ledgered): void => {
  for (const segment of ledger.journal.segments.splice(0)) {
    try {
      fs.rmSync(segment.path, { force: true })
    } catch (error) {
      ledger.report("warn", "a journal segment could not be removed", { segment: segment.path, error: String(error) })
    }
  }
}
