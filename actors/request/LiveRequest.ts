/** A request that is being served, as a shutdown and the heartbeat see it. */
import type * as Effect from "effect/Effect"
import type { Inbound } from "#actors/request/Inbound.ts"
import type { Target } from "#actors/request/ports/Target.ts"

export interface LiveRequest {
  /** Place among the live requests; -1 outside. */
  rosterSlot: number
  readonly inbound: Inbound
  /** When it began, its waiting for a turn included, ms since the epoch. */
  readonly startedAt: number
  /** Wire attempts begun so far. */
  readonly attempts: number
  /** The newest answer's text so far; made when it is asked for. */
  readonly outputText: string
  /** The target of the running or newest attempt; null for one whose calls are live requests of their own. */
  readonly target: Target | null
  /** Says something on a stream that is silent; called a few times a second. */
  readonly beat: (now: number) => void
  /** Ends the exchange from our side. */
  readonly shutDown: () => void
  /** Interrupts it and waits for its end. */
  readonly interrupted: Effect.Effect<void>
}
