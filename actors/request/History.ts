/** What one request leaves behind: a note of each attempt, the newest row, and how it all ended. */
import type { AttemptEnd } from "./Attempt.ts"
import type { AttemptNote, Inbound, SkipNote, RouteNotes } from "./Inbound.ts"
import type { RequestSummary } from "#actors/request/ports/Telemetry.ts"
import * as RequestFacts from "./requestFacts.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"

const noNotes: ReadonlyArray<AttemptNote> = []
const noSkips: ReadonlyArray<SkipNote> = []

export class History implements RouteNotes {
  notes: ReadonlyArray<AttemptNote> = noNotes
  /** Targets that were passed over, once the first one did not answer. */
  skips: ReadonlyArray<SkipNote> = noSkips
  /** The newest row that says something of the request. */
  newest: LedgerRow | null = null
  private bytesOut = 0

  note(index: number, end: AttemptEnd, row: LedgerRow): void {
    const note = { index, status: end.upstreamStatus, code: row.errorCode, ms: row.latencyMs }
    // A list of its size: one that grows takes room for seventeen.
    this.notes = this.notes.length === 0 ? [note] : [...this.notes, note]
  }

  count(end: AttemptEnd, row: LedgerRow): void {
    this.bytesOut += end.bytesOut + (end.answer === null ? 0 : end.answer.length)
    this.newest = row
  }

  get completed(): boolean {
    return this.newest !== null && this.newest.outcome === "completed"
  }

  /** `refusal`: why the newest target was passed over; `headSent`: that of a stream; `goneCode`: null while the client is there. */
  summary(
    inbound: Inbound, refusal: PublicError | null, attempts: number, startedAt: number, now: number, headSent: boolean, goneCode: RequestFacts.GoneCode | null
  ): RequestSummary {
    const summary = RequestFacts.summaryOf(inbound, this.newest, this.bytesOut, refusal, attempts, startedAt, now, headSent, goneCode)
    return this.completed && this.notes.length < 2 && this.skips.length === 0 ? summary : { ...summary, route: inbound.route.line(this) }
  }
}
