/** Conversations that clients keep here: requests name one by `conversation`, and what was said is appended to it. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"

/** Times are ms since the epoch. */
export interface StoredConversation {
  readonly id: string
  /** The key that may use it; null for callers without one. */
  readonly keyId: string | null
  readonly createdAt: number
  /** Each change moves it on. */
  readonly expiresAt: number
  /** JSON text of an object. */
  readonly metadata: string
}

export interface StoredItem {
  readonly id: string
  /** JSON text, which holds the id. */
  readonly item: string
}

export class ConversationStore extends Context.Service<ConversationStore, {
  readonly create: (conversation: StoredConversation, items: ReadonlyArray<StoredItem>) => Effect.Effect<void, StoreError>
  /** Null also for one that has expired. */
  readonly find: (id: string, now: number) => Effect.Effect<StoredConversation | null, StoreError>
  readonly setMetadata: (id: string, metadata: string, expiresAt: number) => Effect.Effect<void, StoreError>
  readonly remove: (id: string) => Effect.Effect<void, StoreError>
  /** All items, the oldest first. */
  readonly items: (id: string) => Effect.Effect<ReadonlyArray<StoredItem>, StoreError>
  /** Puts items behind those that are there, all or none; false when the conversation is gone. */
  readonly append: (id: string, items: ReadonlyArray<StoredItem>, expiresAt: number) => Effect.Effect<boolean, StoreError>
  /** False when there was none. */
  readonly removeItem: (id: string, itemId: string) => Effect.Effect<boolean, StoreError>
  /** Answers how many went. */
  readonly removeExpired: (now: number) => Effect.Effect<number, StoreError>
}>()("gateway/features/responses/ConversationStore") {}
