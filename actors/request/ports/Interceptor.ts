/**
 * What accompanies one request beside its actor: a lease that fences it, a reservation of limits, a recorder. It is called before
 * each wire call, after each settled attempt, and at the end.
 */
import type * as Effect from "effect/Effect"
import type { Unavailable } from "./Resilience.ts"
import type { Target } from "./Target.ts"
import type { Upstream } from "./Upstream.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { AttemptStart, LedgerRow } from "#schemas/records/LedgerRow.ts"

/** Why a target must not be called. */
export interface CallRefusal {
  readonly error: PublicError
  /** True when no other target may be tried either. */
  readonly final: boolean
  /** The reason that the routing decision shows for the target; absent when the refusal is not about the target. */
  readonly skip?: Unavailable
}

/** Puts itself between one wire call and the upstream. */
export type Watch = (start: AttemptStart, target: Target, upstream: Upstream["Service"]) => Upstream["Service"]

export interface Interceptor {
  /**
   * Called immediately before every wire call: null allows it. An effect is waited for; it must end by itself (a deadline of its
   * own) and is interrupted when the client leaves.
   */
  readonly beforeAttempt: (target: Target) => CallRefusal | null | Effect.Effect<CallRefusal | null>
  /** The leave that it gave for the target has no use: another interceptor refused, or the request cannot be told to the target. */
  readonly unused?: (target: Target) => void
  /** Once per wire call that was made, in the turn in which its ledger row became final. */
  readonly attemptSettled: (row: LedgerRow) => void
  /** Answers the upstream that one wire call is made through, so that it sees what is sent and answered; absent: it does not look. */
  readonly watch?: Watch
  /** Exactly once, last: nothing of this request follows. */
  readonly closed: () => void
}
