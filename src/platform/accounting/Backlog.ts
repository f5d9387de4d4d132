/**
 * Settled rows on their way to the store, oldest first: a bounded window in memory, and behind it the journal itself. When
 * the window is full, later rows stay on disk only and are read back when there is room again.
 */
import * as fs from "node:fs/promises"
import * as Effect from "effect/Effect"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import type { DeliveryReport } from "./Delivery.ts"
import type { Segment } from "#src/platform/accounting/journal/Journal.ts"
import * as JournalRecord from "#src/platform/accounting/journal/JournalRecord.ts"

/** Rows kept in memory while the store is away; about 0.6 kB each. */
const WINDOW_ROWS = 10_000
/** Bytes read back from a segment at a time: what is decoded in one turn, some 500 attempts. */
export const READ_BYTES = 128 * 1024

export interface BacklogEntry {
  readonly ordinal: number
  readonly row: LedgerRow
}

/** A place in the journal: all before it is in the window or was. */
interface Cursor {
  readonly segment: Segment
  offset: number
  /** Knows what the records behind `known` may refer to. */
  readonly decoder: JournalRecord.Decoder
  /** How far the decoder has read, up to `offset`. */
  known: number
}

const cursorAt = (segment: Segment, offset: number): Cursor => ({ segment, offset, decoder: new JournalRecord.Decoder(), known: 0 })

export class Backlog {
  readonly #window: Array<BacklogEntry> = []
  readonly #limit: number
  /** Where the first row that is on disk only begins; null while the window holds everything. */
  #cursor: Cursor | null = null
  /** Highest ordinal that ever entered the window. */
  #last = 0

  constructor(limit: number = WINDOW_ROWS) {
    this.#limit = limit
  }

  get size(): number {
    return this.#window.length
  }

  get spilling(): boolean {
    return this.#cursor !== null
  }

  /** ms since the epoch of the oldest row that waits; null when none does. */
  get oldest(): number | null {
    return this.#window[0]?.row.settledAt ?? null
  }

  /** Takes a row that is on disk at `offset`; beyond the bound only its place is remembered. */
  push(entry: BacklogEntry, segment: Segment, offset: number): void {
    if (this.#cursor !== null) return
    if (this.pushUnwritten(entry)) return
    this.#cursor = cursorAt(segment, offset)
  }

  /** Takes a row that the disk refused; false when there is no room and the caller must keep it. */
  pushUnwritten(entry: BacklogEntry): boolean {
    if (this.#cursor !== null || this.#window.length >= this.#limit) return false
    this.#window.push(entry)
    this.#last = entry.ordinal
    return true
  }

  /** The oldest rows, at most `count`, in an array of the caller's own. */
  peek(count: number): Array<LedgerRow> {
    return Array.from({ length: Math.min(count, this.#window.length) }, (_, i) => this.#window[i]!.row)
  }

  /** Forgets the oldest `count` rows, at least one; answers the ordinal of the last of them. */
  drop(count: number): number {
    return this.#window.splice(0, count).at(-1)!.ordinal
  }

  /** True while there are rows to read back, and room for them, before a batch of `count` is complete. */
  wants(count: number): boolean {
    return this.#cursor !== null && this.#window.length < Math.min(count, this.#limit)
  }

  /** Reads the next stretch of the journal back into the window; each call gets on, and decodes so much in one turn. */
  refill(segments: ReadonlyArray<Segment>, report: DeliveryReport): Effect.Effect<void> {
    return Effect.gen({ self: this }, function*() {
      const cursor = this.#cursor
      if (cursor === null || this.#window.length >= this.#limit) return
      const { segment } = cursor
      const behind = cursor.known < cursor.offset
      const from = behind ? cursor.known : cursor.offset
      const available = (behind ? cursor.offset : segment.size) - from
      const take = (bytes: Uint8Array, whole: boolean) => behind ? learn(cursor, bytes, whole) : this.#take(cursor, bytes, whole, report)
      let bytes = yield* this.#read(segment, from, Math.min(READ_BYTES, available))
      let taken = take(bytes, bytes.length >= available)
      if (taken === 0 && bytes.length < available) {
        bytes = yield* this.#read(segment, from, available)
        taken = take(bytes, true)
      }
      if (bytes.length === 0 && available > 0) {
        report("error", "a journal segment is shorter than what was written to it", { segment: segment.path, bytes: available })
        taken = available
      }
      cursor.known = from + taken
      if (behind) return
      cursor.offset = cursor.known
      // Rows may have been appended while the disk was read: compare with the size of now.
      if (cursor.offset < segment.size) return
      const next = segments[segments.indexOf(segment) + 1]
      this.#cursor = next === undefined ? null : cursorAt(next, 0)
    })
  }

  /** Answers how many bytes were used up: whole frames until the window was full. */
  #take(cursor: Cursor, bytes: Uint8Array, whole: boolean, report: DeliveryReport): number {
    const path = cursor.segment.path
    let used = 0
    for (const frame of JournalRecord.frames(bytes, cursor.decoder)) {
      if (frame._tag === "Damage") {
        if (frame.tail && !whole) return used
        report("error", "a damaged stretch of a journal segment was passed over", { segment: path, bytes: frame.end - frame.offset })
      } else if (frame.record._tag === "Settle" && frame.record.ordinal > this.#last) {
        this.#window.push(frame.record)
        this.#last = frame.record.ordinal
      } else if (frame.record._tag === "Orphan" && frame.record.settle !== null && frame.record.settle.ordinal > this.#last) {
        this.#last = frame.record.settle.ordinal
        report("error", "a settled row is lost: its start in the journal is damaged", { segment: path, ...JournalRecord.describe(frame.record) })
      }
      used = frame.end
      // Before the next frame is decoded: a record is read once, because a settle makes its start forgotten.
      if (this.#window.length >= this.#limit) return used
    }
    return used
  }

  #read(segment: Segment, offset: number, length: number): Effect.Effect<Uint8Array> {
    return Effect.tryPromise(async () => {
      const file = await fs.open(segment.path, "r")
      try {
        const bytes = Buffer.allocUnsafe(length)
        let done = 0
        while (done < length) {
          const { bytesRead } = await file.read(bytes, done, length - done, offset + done)
          if (bytesRead === 0) break
          done += bytesRead
        }
        return bytes.subarray(0, done)
      } finally {
        await file.close()
      }
    }).pipe(Effect.orDie)
  }
}

/** Reads what stands before the first row that is wanted: the starts and contexts that later rows refer to. */
const learn = (cursor: Cursor, bytes: Uint8Array, whole: boolean): number => {
  let used = 0
  for (const frame of JournalRecord.frames(bytes, cursor.decoder)) {
    if (frame._tag === "Damage" && frame.tail && !whole) return used
    used = frame.end
  }
  return used
}
