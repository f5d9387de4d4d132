/** The synchronous half of the ledger: what the hot path touches, and what the journal calls back. */
import * as Latch from "effect/Latch"
import { LedgerUnavailable, type Opening } from "#actors/request/ports/Ledger.ts"
import type { AttemptStart, LedgerRow } from "#schemas/records/LedgerRow.ts"
import * as AttemptTable from "./AttemptTable.ts"
import { Backlog } from "./Backlog.ts"
import type { DeliveryReport } from "./Delivery.ts"
import * as Journal from "#src/platform/accounting/journal/Journal.ts"
import type { RecordWriter } from "#src/platform/accounting/journal/JournalRecord.ts"

/** Rows per insert. */
export const BATCH_ROWS = 1000

/** An attempt between `open` and the write of its settle. */
export class LedgerAttempt implements Journal.PendingWrite, AttemptTable.TableMember {
  readonly hash: number
  /** Its number in the journal. */
  readonly number: number
  settled = false
  /** The newest segment that holds its start. */
  segment: Journal.Segment | null = null
  /** What its start record says; once it is settled, the row, which says the same. */
  #start: AttemptStart
  /** The segment for which its start was encoded last: ahead of `segment` until that write has succeeded. */
  #encoded: Journal.Segment | null = null
  readonly #ledger: LedgerCore
  #opening: Opening | null

  constructor(ledger: LedgerCore, number: number, start: AttemptStart, opening: Opening) {
    this.#ledger = ledger
    this.hash = AttemptTable.hashOf(start.attemptId)
    this.number = number
    this.#start = start
    this.#opening = opening
  }

  get id(): string {
    return this.#start.attemptId
  }

  settle(row: LedgerRow): void {
    this.settled = true
    this.#start = row
  }

  encode(writer: RecordWriter, segment: Journal.Segment): boolean {
    writer.start(this.number, this.#start)
    this.#encoded = segment
    return true
  }

  /** Sees to it that the start stands before what is encoded next. */
  encodeBefore(writer: RecordWriter, segment: Journal.Segment): void {
    if (this.#encoded !== segment) this.encode(writer, segment)
  }

  written(segment: Journal.Segment): void {
    this.segment = segment
    segment.liveStarts++
    this.#answer(null)
  }

  failed(message: string): boolean {
    this.unwritten()
    if (!this.settled) this.#ledger.refuse(this)
    this.#answer(new LedgerUnavailable({ message }))
    return false
  }

  /** The write for which the start was encoded last did not succeed. */
  unwritten(): void {
    this.#encoded = this.segment
  }

  #answer(error: LedgerUnavailable | null): void {
    const opening = this.#opening
    this.#opening = null
    if (opening === null) return
    try {
      opening.go(error)
    } catch (defect) {
      this.#ledger.report("error", "the go callback of an attempt threw", { attemptId: this.id, error: String(defect) })
    }
  }
}

/** The settle of an attempt, until it is on disk; then its row on the way to the store. */
class Settled implements Journal.PendingWrite {
  /** Already in the window, because the disk refused it once. */
  #queued = false
  readonly ordinal: number
  readonly row: LedgerRow
  #attempt: LedgerAttempt | null
  readonly #ledger: LedgerCore

  constructor(ledger: LedgerCore, attempt: LedgerAttempt, ordinal: number, row: LedgerRow) {
    this.#ledger = ledger
    this.#attempt = attempt
    this.ordinal = ordinal
    this.row = row
  }

  encode(writer: RecordWriter, segment: Journal.Segment): boolean {
    const attempt = this.#attempt
    if (attempt === null) return false
    attempt.encodeBefore(writer, segment)
    writer.settle(this.ordinal, attempt.number, this.row)
    return true
  }

  written(segment: Journal.Segment, offset: number): void {
    segment.lastOrdinal = this.ordinal
    const home = this.#attempt?.segment ?? null
    this.#attempt = null
    if (home !== null) {
      home.liveStarts--
      if (home.lastOrdinal < this.ordinal) home.lastOrdinal = this.ordinal
    }
    if (this.#queued) return
    this.#queued = true
    this.#ledger.backlog.push(this, segment, offset)
    this.#ledger.wake()
  }

  failed(): boolean {
    this.#attempt?.unwritten()
    if (!this.#queued && this.#ledger.backlog.pushUnwritten(this)) {
      this.#queued = true
      this.#ledger.wake()
    }
    return true
  }
}

export interface Options extends Omit<Journal.Options, "syncOnClose" | "now"> {
  readonly fsyncIntervalMs?: number | undefined
  readonly windowRows?: number | undefined
}

export class LedgerCore {
  readonly live = new AttemptTable.AttemptTable<LedgerAttempt>()
  readonly backlog: Backlog
  readonly journal: Journal.Journal
  readonly report: DeliveryReport
  /** Open while there is something to deliver. */
  readonly work = Latch.makeUnsafe(false)
  /** Opened when a whole batch waits, or at a flush. */
  readonly full = Latch.makeUnsafe(false)
  started = 0
  /** Ordinal of the last settle: how many there were. */
  settled = 0
  closing = false
  #lastNumber = 0

  constructor(options: Options, now: () => number, report: DeliveryReport) {
    this.report = report
    this.backlog = new Backlog(options.windowRows)
    this.journal = new Journal.Journal({ ...options, syncOnClose: (options.fsyncIntervalMs ?? 0) > 0, now })
  }

  readonly open = (start: AttemptStart, opening: Opening): void => {
    if (this.closing) return this.#decline("The gateway is shutting down.", opening)
    const attempt = new LedgerAttempt(this, ++this.#lastNumber, start, opening)
    if (!this.live.add(attempt)) {
      this.report("error", "an attempt was opened twice; the second one is refused", { attemptId: start.attemptId })
      return this.#decline(`Attempt ${start.attemptId} is already open.`, opening)
    }
    this.started++
    this.journal.append(attempt)
  }

  readonly settle = (row: LedgerRow): void => {
    if (this.journal.closed) {
      this.report("error", "an attempt was settled after the ledger had closed; the next start records it as crashed", { attemptId: row.attemptId })
      return
    }
    const attempt = this.live.get(row.attemptId)
    if (attempt === undefined) {
      this.report("error", "an attempt that is not open was settled; the row is ignored", { attemptId: row.attemptId, outcome: row.outcome })
      return
    }
    this.live.remove(attempt)
    attempt.settle(row)
    this.journal.append(new Settled(this, attempt, ++this.settled, row))
  }

  refuse(attempt: LedgerAttempt): void {
    if (this.live.remove(attempt)) this.started--
  }

  wake(): void {
    if (!this.work.isOpen()) this.work.openUnsafe()
    if (this.backlog.size >= BATCH_ROWS && !this.full.isOpen()) this.full.openUnsafe()
  }

  #decline(message: string, opening: Opening): void {
    const error = new LedgerUnavailable({ message })
    queueMicrotask(() => opening.go(error))
  }
}
