/** The records of limits: budgets and token limits of keys, keys issued over the inference surface and how many may be. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { Budget, IssueLimits, RegisteredKey, TokenLimit } from "#schemas/records/Limits.ts"

type Op<A> = Effect.Effect<A, StoreError>

/** One budget per key. */
export class BudgetStore extends Context.Service<BudgetStore, {
  readonly list: Op<ReadonlyArray<Budget>>
  readonly put: (budget: Budget) => Op<void>
  readonly remove: (apiKeyId: string) => Op<boolean>
}>()("gateway/ports/BudgetStore") {}

/** `list` orders by createdAt, then id. */
export class TokenLimitStore extends Context.Service<TokenLimitStore, {
  readonly list: Op<ReadonlyArray<TokenLimit>>
  readonly insert: (limit: TokenLimit) => Op<void>
  readonly replace: (limit: TokenLimit) => Op<boolean>
  readonly remove: (id: string) => Op<boolean>
}>()("gateway/ports/TokenLimitStore") {}

export interface RegisteredFilter {
  readonly provider?: string
  readonly accountId?: string
  readonly issuerId?: string | null
}

/** Something that keys are issued for and that limits how many, with every key that was. */
export interface IssueStanding {
  readonly kind: "provider" | "account"
  readonly limits: IssueLimits
  readonly keys: ReadonlyArray<RegisteredKey>
}

/** `list` orders newest first. */
export class RegisteredKeyStore extends Context.Service<RegisteredKeyStore, {
  readonly list: (filter: RegisteredFilter) => Op<ReadonlyArray<RegisteredKey>>
  readonly get: (id: string) => Op<RegisteredKey | null>
  readonly byIdempotencyKey: (idempotencyKey: string) => Op<RegisteredKey | null>
  /**
   * Keeps the record of an issued key, unless `judge` refuses: it is called once for the key's account and once for its provider,
   * where they have limits; from that call to the write of the record no other node issues for the same subject. Null = kept.
   * `conflict`: the idempotency key is taken.
   */
  readonly issue: <R>(key: RegisteredKey, judge: (standing: IssueStanding) => R | null) => Op<R | null>
  /** False when it is unknown or was revoked before. */
  readonly revoke: (id: string, revokedAt: string) => Op<boolean>
  readonly remove: (id: string) => Op<boolean>
  /** Of the keys that were issued for a provider and of its limits; false when there are none. */
  readonly renameProvider: (from: string, to: string) => Op<boolean>
  /** Null when none is set. */
  readonly issueLimits: (subject: string) => Op<IssueLimits | null>
  readonly putIssueLimits: (limits: IssueLimits) => Op<void>
}>()("gateway/ports/RegisteredKeyStore") {}
