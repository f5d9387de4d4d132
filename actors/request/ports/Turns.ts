/**
 * Waiting while no target of a request may be called: in the queue of a busy connection, for the end of a cooldown, for a place
 * at a model of a combo. A waiter holds nothing, and its turn is a plain callback.
 */
import * as Context from "effect/Context"
import type { Target } from "./Target.ts"
import type { Unavailable } from "./Resilience.ts"
import type { PublicError } from "#schemas/errors.ts"

/** A request that may wait, and for what. */
export interface Wish {
  /** The targets it would go to, in their order, and what holds it up at each. */
  readonly blocked: ReadonlyArray<{ readonly target: Target; readonly unavailable: Unavailable }>
  /** The key that it came with; null = none. Keys may have turns one after the other (GATEWAY_CHAT_VIRTUAL_LANES). */
  readonly keyId: string | null
  /** The targets are those of a combo, whose cooldowns are waited for by rules of their own (comboCooldownWait). */
  readonly combo: boolean
  /** When the request came, ms since the epoch: a bound of its waiting counts from then. */
  readonly since: number
  /** When the whole request must be over, ms since the epoch; Infinity = never. */
  readonly deadline: number
  /** Turns that it had already and that came to nothing. */
  readonly rounds: number
}

/**
 * `go`: a place is free, to be taken before the call-back returns. `late`: it has waited long enough. An error: no request waits
 * any more.
 */
export type TurnOutcome = "go" | "late" | PublicError

/** Leaves the queue; no callback follows. */
export type Leave = () => void

export class Turns extends Context.Service<Turns, {
  /**
   * Joins the queues in which this request may wait; the callback comes exactly once, unless it leaves. Null when the settings
   * allow no wait for that; an error when the queues are full.
   */
  readonly join: (wish: Wish, turn: (turn: TurnOutcome) => void) => Leave | PublicError | null
  /** Whether the settings would let this request wait now; takes no place. */
  readonly mayJoin: (wish: Wish) => boolean
  /** Waits a fixed time, ms (a key's `throttleDelayMs`); its turn is `go`, or an error. */
  readonly pause: (ms: number, turn: (turn: TurnOutcome) => void) => Leave
  /** Refuses all waiting requests and every later one. */
  readonly close: () => void
}>()("gateway/ports/Turns") {}
