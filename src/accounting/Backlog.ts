/**
 * Settled rows on their way to the store, oldest first: a bounded window in memory, and behind it the journal itself. When
 * the window is full, later rows stay on disk only and are read back when there is room again.
 */
import * as fs from "node:fs/promises"
import * as Effect from "effect/Effect"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import type { Segment } from "./Journal.ts"
import * as JournalRecord from "./JournalRecord.ts"

/** Rows kept in memory while the store is away; about 0.6 kB each. */
export const WINDOW_ROWS = 10_000
/** Bytes read back from a segment at a time. */
export const READ_BYTES = 1024 * 1024

export interface Entry {
  readonly ordinal: number
  readonly row: LedgerRow
}

export class Backlog {
  readonly #window: Array<Entry> = []
  readonly #limit: number
  /** Where the first row that is on disk only begins; null while the window holds everything. */
  #cursor: { segment: Segment; offset: number } | null = null
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
  push(entry: Entry, segment: Segment, offset: number): void {
    if (this.#cursor !== null) return
    if (this.pushUnwritten(entry)) return
    this.#cursor = { segment, offset }
  }

  /** Takes a row that the disk refused; false when there is no room and the caller must keep it. */
  pushUnwritten(entry: Entry): boolean {
    if (this.#cursor !== null || this.#window.length >= this.#limit) return false
    this.#window.push(entry)
    this.#last = entry.ordinal
    return true
  }

  peek(count: number): ReadonlyArray<Entry> {
    return this.#window.slice(0, count)
  }

  drop(count: number): void {
    this.#window.splice(0, count)
  }

  /** Reads the next stretch of the journal back into the window. `damaged` hears of bytes that are no record. */
  refill(segments: ReadonlyArray<Segment>, damaged: (segment: Segment, bytes: number) => void): Effect.Effect<void> {
    return Effect.gen({ self: this }, function*() {
      const cursor = this.#cursor
      if (cursor === null || this.#window.length >= this.#limit) return
      const { segment } = cursor
      const available = segment.size - cursor.offset
      let bytes = yield* this.#read(segment, cursor.offset, Math.min(READ_BYTES, available))
      let taken = this.#take(bytes, bytes.length >= available, segment, damaged)
      if (taken === 0 && bytes.length < available) {
        bytes = yield* this.#read(segment, cursor.offset, available)
        taken = this.#take(bytes, true, segment, damaged)
      }
      cursor.offset += taken
      // Rows may have been appended while the disk was read: compare with the size of now.
      if (cursor.offset < segment.size) return
      const next = segments[segments.indexOf(segment) + 1]
      this.#cursor = next === undefined ? null : { segment: next, offset: 0 }
    })
  }

  /** Answers how many bytes were used up: whole frames until the window was full. */
  #take(bytes: Uint8Array, whole: boolean, segment: Segment, damaged: (segment: Segment, bytes: number) => void): number {
    let used = 0
    for (const frame of JournalRecord.frames(bytes)) {
      if (frame._tag === "Damage") {
        if (frame.tail && !whole) return used
        damaged(segment, frame.end - frame.offset)
      } else if (frame.record._tag === "Settle" && frame.record.ordinal > this.#last) {
        if (this.#window.length >= this.#limit) return used
        this.#window.push(frame.record)
        this.#last = frame.record.ordinal
      }
      used = frame.end
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
