/** What a request actor works with: ports, limits and callbacks. */
import type * as Cause from "effect/Cause"
import type { AttemptEnd } from "#actors/request/steps/attemptValues.ts"
import type { RequestLimits } from "./Inbound.ts"
import type { Accounting } from "#actors/request/ports/Accounting.ts"
import type { Credentials } from "#actors/request/ports/Credentials.ts"
import type { Ledger } from "#actors/request/ports/Ledger.ts"
import type { Resilience } from "#actors/request/ports/Resilience.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { Telemetry } from "#actors/request/ports/Telemetry.ts"
import type { Turns } from "#actors/request/ports/Turns.ts"
import type { Upstream } from "#actors/request/ports/Upstream.ts"
import type { RequestActor } from "./Request.ts"

export interface Services {
  readonly ledger: Ledger["Service"]
  readonly upstream: Upstream["Service"]
  readonly resilience: Pick<Resilience["Service"], "check" | "enter" | "spent">
  /** Where a request waits whose only target has no place for it; absent = it is refused. */
  readonly turns?: Pick<Turns["Service"], "join" | "mayJoin">
  readonly credentials: Pick<Credentials["Service"], "peek" | "token">
  readonly accounting: Accounting["Service"]
  readonly telemetry: Telemetry["Service"]
  readonly limits: RequestLimits
  /** After a call without a proxy that made no connection, other accounts behind the same way out are not asked; absent = they are. */
  readonly guardsEgress?: () => boolean
  readonly nodeId: string
  /** ms since the epoch. */
  readonly now: () => number
  readonly makeAttemptId: () => string
  /** Called with a target's failure or success, to mark its connection. */
  readonly report: (target: Target, end: AttemptEnd) => void
  /** Called with a defect; the one place where unexpected failures of requests end. */
  readonly defect: (requestId: string, cause: Cause.Cause<unknown>) => void
  /** Called when a request is over. */
  readonly closed: (request: RequestActor) => void
}
