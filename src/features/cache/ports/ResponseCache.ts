/**
 * Stored answers: their record, their stores, and the cache that requests and operators use.
 *
 * The signature begins with the key's id, so one tenant never gets another's answer.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"

/** A complete answer in the client's format. */
export interface CachedAnswer {
  /** `<api key id or anonymous>.<SHA-256 of everything that shapes the answer>`. */
  readonly signature: string
  readonly apiKeyId: string | null
  /** Canonical id of the model that answered. */
  readonly model: string
  /** Alias of the provider that answered. */
  readonly provider: string
  /** A combo's strategy, or `single`. */
  readonly strategy: string
  readonly format: FormatName | "search"
  /** The whole (not streamed) answer, as the client's format has it. */
  readonly body: Uint8Array
  readonly tokensIn: number
  readonly tokensOut: number
  /** What the answer cost, USD. */
  readonly costUsd: number
  /** ms since the epoch. */
  readonly createdAt: number
  readonly expiresAt: number
}

export interface CacheEntry extends Omit<CachedAnswer, "body"> {
  readonly hits: number
  /** Tokens that hits did not cost. */
  readonly tokensSaved: number
}

export interface EntryQuery {
  /** Part of a model or a signature. */
  readonly search?: string
  readonly model?: string
  readonly sortBy: "created_at" | "expires_at" | "hit_count" | "tokens_saved" | "model"
  readonly descending: boolean
  readonly limit: number
  readonly offset: number
}

/** Which answers are forgotten. */
export type Forgotten =
  | { readonly _tag: "All" }
  | { readonly _tag: "Signature"; readonly signature: string }
  | { readonly _tag: "Model"; readonly model: string }
  /** Stored at or before this time, ms since the epoch. */
  | { readonly _tag: "Stale"; readonly storedBefore: number }

type Op<A> = Effect.Effect<A, StoreError>

/** The durable tier: one row per signature, newest wins. An expired row is as good as none. */
export class ResponseCacheStore extends Context.Service<ResponseCacheStore, {
  readonly find: (signature: string, now: number) => Op<CachedAnswer | null>
  readonly put: (answers: ReadonlyArray<CachedAnswer>) => Op<void>
  /** Adds hits per signature; unknown ones are passed over. */
  readonly noteHits: (hits: ReadonlyArray<{ readonly signature: string; readonly hits: number }>) => Op<void>
  readonly entries: (query: EntryQuery, now: number) => Op<{ readonly entries: ReadonlyArray<CacheEntry>; readonly total: number }>
  readonly count: (now: number) => Op<number>
  /** Answers the signatures that went. */
  readonly remove: (what: Forgotten) => Op<ReadonlyArray<string>>
  /** Removes expired rows, then the oldest beyond `most`; answers how many. */
  readonly sweep: (now: number, most: number) => Op<number>
}>()("gateway/ports/ResponseCacheStore") {}

/** A faster tier that nodes share, in front of the durable one. Expiry is its own. */
export class SharedCacheTier extends Context.Service<SharedCacheTier, {
  readonly find: (signature: string) => Op<CachedAnswer | null>
  readonly put: (answer: CachedAnswer, ttlMs: number) => Op<void>
  /** Null removes everything. Every node's memory is cleared too. */
  readonly remove: (signatures: ReadonlyArray<string> | null) => Op<void>
  /** Registers what drops this node's memory when another node forgot; null = everything. */
  readonly onRemoved: (listener: (signatures: ReadonlyArray<string> | null) => void) => void
}>()("gateway/ports/SharedCacheTier") {}

export interface CacheConfig {
  readonly enabled: boolean
  /** Answers in memory. */
  readonly maxEntries: number
  /** Bytes of answers in memory. */
  readonly maxBytes: number
  readonly ttlMs: number
}

export interface CacheFigures {
  readonly memoryEntries: number
  readonly memoryBytes: number
  /** Since this node started. */
  readonly hits: number
  readonly misses: number
  readonly tokensSaved: number
  readonly costSavedUsd: number
  /** Writes to the lower tiers that were given up: they hold less than they could. */
  readonly lost: number
}

export class ResponseCache extends Context.Service<ResponseCache, {
  readonly config: () => CacheConfig
  /** From memory, at once. */
  readonly peek: (signature: string) => CachedAnswer | null
  /** From the lower tiers, within their deadlines; a tier that cannot answer is passed by. */
  readonly find: (signature: string) => Effect.Effect<CachedAnswer | null>
  /** Kept in memory at once, in the lower tiers soon. */
  readonly put: (answer: CachedAnswer) => void
  readonly noteHit: (answer: CachedAnswer) => void
  readonly noteMiss: () => void
  readonly figures: () => CacheFigures
  /** Forgets, here and on every node; answers how many durable answers went. */
  readonly forget: (what: Forgotten) => Op<number>
  readonly entries: (query: EntryQuery) => Op<{ readonly entries: ReadonlyArray<CacheEntry>; readonly total: number }>
  /** Durable answers. */
  readonly stored: Op<number>
}>()("gateway/ports/ResponseCache") {}

/** What the response cache does while Redis or Postgres fails. */
export const degradation = {
  feature: "response-cache",
  redis: "fail-open: the durable tier is asked, and other nodes keep forgotten answers in memory until they expire or Redis is back",
  postgres: "fail-open: a look-up misses after its deadline; answers are kept in memory and in Redis only; the entry list answers 503",
  stalenessMs: 0,
  addedLatencyMs: 300
} as const
