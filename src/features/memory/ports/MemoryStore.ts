/** Entries of memories, by the API key that they belong to. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { Vector } from "#src/features/memory/vectors/vector.ts"
import type { MemoryEntry, MemoryType } from "#schemas/memory/MemoryEntry.ts"

type Op<A> = Effect.Effect<A, StoreError>

export interface MemoryFilter {
  readonly apiKeyId?: string | undefined
  readonly type?: MemoryType | undefined
  readonly sessionId?: string | undefined
  /** Part of an entry's key or content, in any case of letters. */
  readonly q?: string | undefined
  /** Last changed before, ISO 8601. */
  readonly before?: string | undefined
}

export interface MemoryFigures {
  readonly total: number
  readonly byType: Readonly<Record<MemoryType, number>>
  readonly tokens: number
}

/** The vector of an entry. */
export interface EntryVector {
  readonly memoryId: string
  /** Of the text that it was made from. */
  readonly digest: string
  readonly vector: Vector
}

export class MemoryStore extends Context.Service<MemoryStore, {
  readonly get: (id: string) => Op<MemoryEntry | null>
  readonly findByKey: (apiKeyId: string, key: string) => Op<MemoryEntry | null>
  /** Adds it, or puts it in the place of the one with its id. `conflict` where another entry of its API key has its key. */
  readonly put: (entry: MemoryEntry) => Op<void>
  readonly remove: (id: string) => Op<boolean>
  /** Adds one and removes those with these ids, or does neither. */
  readonly replace: (ids: ReadonlyArray<string>, entry: MemoryEntry) => Op<void>
  /** Answers how many went. */
  readonly removeAll: (filter: MemoryFilter) => Op<number>
  /** Newest change first, and how many match. */
  readonly list: (filter: MemoryFilter, limit: number, offset: number) => Op<{ readonly entries: ReadonlyArray<MemoryEntry>; readonly total: number }>
  /** The entries of one API key that have not expired, newest change first. */
  readonly ofKey: (apiKeyId: string, now: string, limit: number) => Op<ReadonlyArray<MemoryEntry>>
  /** What an API key's entries take, but for the one with this key. */
  readonly weight: (apiKeyId: string, but: string) => Op<{ readonly entries: number; readonly characters: number }>
  readonly figures: (filter: Pick<MemoryFilter, "apiKeyId">) => Op<MemoryFigures>
  /** Removes what expired by `now` or was last changed before `before`, ISO 8601; answers how many went. */
  readonly sweep: (now: string, before: string | null) => Op<number>
  /** The vectors that a model made of the entries of one API key. */
  readonly vectors: (apiKeyId: string, model: string) => Op<ReadonlyArray<EntryVector>>
  /** Each in the place of its entry's vector before it, of any model; of entries that are gone none is kept. */
  readonly putVectors: (apiKeyId: string, model: string, vectors: ReadonlyArray<EntryVector>) => Op<void>
  /** Of one API key, or of all. */
  readonly removeVectors: (apiKeyId?: string) => Op<number>
  /** API keys that have entries, in their order; those after `after`. */
  readonly owners: (after: string | null, limit: number) => Op<ReadonlyArray<string>>
  /** Asks for nothing. */
  readonly ping: Op<void>
}>()("gateway/memory/MemoryStore") {}
