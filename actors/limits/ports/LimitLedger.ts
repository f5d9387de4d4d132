/** The ledger as limits see it: what a key has really used. It is the truth from which every count is rebuilt. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"

/** What a key used at one model since a moment, on one node. */
export interface Used {
  readonly nodeId: string
  readonly provider: string
  readonly model: string
  /** Input and output. */
  readonly tokens: number
  readonly costUsd: number
}

/** True in the fiber of a request: it waits only briefly for the ledger; its query continues for the next request. */
export const ShortWait = Context.Reference<boolean>("gateway/ports/LimitLedger/ShortWait", { defaultValue: () => false })

export class LimitLedger extends Context.Service<LimitLedger, {
  /** Makes everything settled on this node durable: no amount is reported to other nodes that could be missing from the ledger. */
  readonly journal: () => void
  /** Attempts that began at or after `since`; everything settled on this node before the call is in it, replayed journals too. */
  readonly used: (apiKeyId: string, since: number) => Effect.Effect<ReadonlyArray<Used>, StoreError>
  /** Succeeds once everything that was settled on this node is in the ledger, the journals of its earlier runs included. */
  readonly settled: Effect.Effect<void, StoreError>
  /** Requests of a key that ended, by age: pairs of age in ms and count, at most `windowMs` old. Ages are rounded down. */
  readonly requests: (apiKeyId: string, windowMs: number) => Effect.Effect<ReadonlyArray<readonly [ageMs: number, count: number]>, StoreError>
}>()("gateway/ports/LimitLedger") {}
