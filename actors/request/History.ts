/** What one request leaves behind: a note of each attempt, the newest row, and how it all ended. */
import type { AttemptEnd } from "#actors/request/steps/attemptValues.ts"
import type { AttemptNote, Inbound, SkipNote, RouteNotes } from "./Inbound.ts"
import type { RequestSummary } from "#actors/request/ports/Telemetry.ts"
import * as RequestFacts from "./requestFacts.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"

const noNotes: ReadonlyArray<AttemptNote> = []
const noSkips: ReadonlyArray<SkipNote> = []

const noteOf = (index: number, { errorCode: code, latencyMs: ms, upstreamStatus: status }: LedgerRow): AttemptNote => ({ index, status, code, ms })

export class History implements RouteNotes {
  /** Targets that were passed over, once the first one did not answer. */
  skips: ReadonlyArray<SkipNote> = noSkips
  /** The newest row that says something of the request. */
  newest: LedgerRow | null = null
  tried = 0
  /** USD of the calls after the first: a sum with a fraction would be an object of its own in each request. */
  private costOfMoreUsd = 0
  private bytesOut = 0
  /** Of the first attempt, whose note is made when it is asked for: that of most requests never is. */
  private index = 0
  private first: LedgerRow | null = null
  private made: ReadonlyArray<AttemptNote> | null = null

  get notes(): ReadonlyArray<AttemptNote> {
    return this.first === null ? noNotes : this.made ??= [noteOf(this.index, this.first)]
  }

  /** Of all settled calls. */
  get costUsd(): number {
    return this.first === null ? 0 : this.first.costUsd + this.costOfMoreUsd
  }

  note(index: number, row: LedgerRow): void {
    this.tried++
    if (this.first !== null) {
      this.costOfMoreUsd += row.costUsd
      this.made = [...this.notes, noteOf(index, row)]
      return
    }
    this.index = index
    this.first = row
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
    return this.completed && this.tried < 2 && this.skips.length === 0 ? summary : { ...summary, route: inbound.route.line(this) }
  }
}
