/** What runs right now, for the usage views. */
import * as Context from "effect/Context"

export interface LiveCall {
  readonly model: string
  readonly provider: string
  readonly connectionId: string | null
  readonly count: number
}

export class LiveCalls extends Context.Service<LiveCalls, {
  /** Attempts in flight on this node, grouped by target. */
  readonly list: () => ReadonlyArray<LiveCall>
}>()("gateway/ports/LiveCalls") {}
