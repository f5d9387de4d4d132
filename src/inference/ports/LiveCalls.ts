/** What runs right now, for the usage views. */
import * as Context from "effect/Context"

export interface LiveCall {
  readonly model: string
  readonly provider: string
  readonly connectionId: string | null
  readonly count: number
}

/** A session that clients name by X-Session-Id. Times are ms since the epoch. */
export interface LiveSession {
  readonly id: string
  /** The key that it belongs to; null without one. */
  readonly keyId: string | null
  readonly firstAt: number
  readonly lastAt: number
  readonly requests: number
  /** The target that answered last; null until one did. */
  readonly connectionId: string | null
}

export class LiveCalls extends Context.Service<LiveCalls, {
  /** Attempts in flight on this node, grouped by target. */
  readonly list: () => ReadonlyArray<LiveCall>
  /** Sessions of this node with a request within the last hour. */
  readonly sessions: (now: number) => ReadonlyArray<LiveSession>
}>()("gateway/ports/LiveCalls") {}
