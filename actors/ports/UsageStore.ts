/** The durable side of the ledger: batched idempotent inserts and the reads of the usage endpoints. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"

export interface UsageTotals {
  readonly requests: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cost: number
}

export interface UsageGroup extends UsageTotals {
  readonly provider: string | null
  readonly model: string | null
  readonly connectionId: string | null
  readonly apiKeyId: string | null
  readonly apiKeyName: string | null
  /** ms since the epoch of the newest row. */
  readonly lastUsed: number
}

export interface UsageFilter {
  readonly since?: number
  readonly until?: number
  readonly provider?: string
  readonly model?: string
  readonly connectionId?: string
  readonly apiKeyId?: string
  readonly status?: number
  readonly requestId?: string
  /** Only rows whose attempt answered the client. */
  readonly finalOnly?: boolean
  readonly limit?: number
}

export class UsageStore extends Context.Service<UsageStore, {
  /** Inserts what is not there yet, keyed by attemptId; answers how many rows were new. All or nothing. */
  readonly insert: (rows: ReadonlyArray<LedgerRow>) => Effect.Effect<number, StoreError>
  /** Newest first; limit at most 10000. */
  readonly rows: (filter: UsageFilter) => Effect.Effect<ReadonlyArray<LedgerRow>, StoreError>
  readonly totals: (filter: UsageFilter) => Effect.Effect<UsageTotals, StoreError>
  readonly groupBy: (
    dimension: "provider" | "model" | "connection" | "apiKey",
    filter: UsageFilter
  ) => Effect.Effect<ReadonlyArray<UsageGroup>, StoreError>
  /** Ten one-minute buckets that end at `now`, oldest first. */
  readonly lastMinutes: (now: number) => Effect.Effect<ReadonlyArray<UsageTotals>, StoreError>
  /** Rows of one node, for reconciliation: how many, per outcome. */
  readonly count: (nodeId?: string) => Effect.Effect<ReadonlyMap<string, number>, StoreError>
  readonly removeBefore: (time: number) => Effect.Effect<number, StoreError>
}>()("gateway/ports/UsageStore") {}
