/** The limits of keys as requests and handlers see them. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Interceptor } from "#actors/request/ports/Interceptor.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { KeyLimits } from "#actors/limits/KeyLimits.ts"
import type { AmountRule } from "#actors/limits/rules.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Budget, TokenLimit } from "#schemas/records/Limits.ts"
import type { Units } from "#schemas/records/Units.ts"

/** What is known of a request before it is planned. */
export interface LimitQuestion {
  /** What `maxSessions` counts. */
  readonly session: string | null
  /** Estimates, in tokens. */
  readonly promptTokens: number
  /** The client's own cap of the answer; null without one. */
  readonly maxOutputTokens: number | null
  /** What the answer is expected to use beside tokens; null = nothing. */
  readonly units: Units | null
  /** Only targets that cost nothing may be called, and USD limits do not apply to them (emergency fallback). */
  readonly free: boolean
}

/** One amount rule and how much of it is used. */
export interface AmountStatus {
  readonly rule: AmountRule
  /** The running window, ms since the epoch. */
  readonly start: number
  readonly end: number
  /** Tokens, or units of 1e-10 USD; over all nodes. */
  readonly used: number
  /** Held by requests in flight on this node. */
  readonly reserved: number
  /** Blocks of nodes that were killed or paused: counted as used until the truth is known, as far as this node has asked. */
  readonly unsettled: number
}

export class Limits extends Context.Service<Limits, {
  /** The limits of a key; null when it has none, which is the usual answer and costs one look. */
  readonly of: (key: ApiKey) => KeyLimits | null
  /** May a request of this key begin? Null lets it; waits only when this node must ask. Takes a place in the key's rates. */
  readonly open: (limits: KeyLimits, ask: LimitQuestion) => PublicError | null | Effect.Effect<PublicError | null>
  /** Goes along with an opened request: reserves before each wire call, settles each attempt once, gives back the rest. */
  readonly interceptor: (limits: KeyLimits, ask: LimitQuestion) => Interceptor
  readonly rulesOf: (key: ApiKey) => ReadonlyArray<AmountRule>
  readonly ruleOf: (limit: TokenLimit) => AmountRule
  /** How much of each rule is used, from this node's meters and the ledger, whichever says more. */
  readonly status: (apiKeyId: string, rules: ReadonlyArray<AmountRule>) => Effect.Effect<ReadonlyArray<AmountStatus>, StoreError>
  readonly budgets: () => ReadonlyMap<string, Budget>
  readonly tokenLimits: () => ReadonlyArray<TokenLimit>
  /** Reads budgets and token limits again, after they were changed. */
  readonly reload: Effect.Effect<void, StoreError>
}>()("gateway/ports/Limits") {}
