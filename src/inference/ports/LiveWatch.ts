/** Watching requests as they run: what an onlooker hears, and what may be looked at now. */
import * as Context from "effect/Context"
import type { LiveRequest } from "#actors/request/LiveRequest.ts"
import type { RequestSummary } from "#actors/request/ports/Telemetry.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"

/** Called synchronously on the path of requests: it only notes what it hears. */
export interface Onlooker {
  readonly began: (request: LiveRequest) => void
  readonly attempted: (row: LedgerRow) => void
  readonly ended: (summary: RequestSummary) => void
}

export class LiveWatch extends Context.Service<LiveWatch, {
  /** One onlooker at a time; null takes it away, and nothing is called any more. */
  readonly watch: (onlooker: Onlooker | null) => void
  /** The requests of this process that run now. */
  readonly running: () => Iterable<LiveRequest>
}>()("gateway/ports/LiveWatch") {}
