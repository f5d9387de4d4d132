/** Conversations that are kept for their keys, and what requests append to them. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Errors from "#schemas/errors.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { makeResponseId } from "#src/inference/lane/services/responseId.ts"
import * as Json from "#src/wire/json/json.ts"
import { ConversationStore, type StoredConversation, type StoredItem } from "./ConversationStore.ts"

const dayMs = 86_400_000
/** Characters of all items of one conversation, from which on it is not continued. */
const MOST_LENGTH = 32 * 1024 * 1024

export const isFull = (items: ReadonlyArray<StoredItem>): boolean => items.reduce((sum, { item }) => sum + item.length, 0) > MOST_LENGTH

export const full = Errors.make("payload_too_large", `A conversation holds ${MOST_LENGTH} characters of items: begin another one.`, { extra: { param: "conversation" } })

export const unknown = (id: string, param?: string): Errors.PublicError =>
  Errors.make("conversation_not_found", `There is no conversation '${id.slice(0, 100)}' of this key.`, param === undefined ? {} : { extra: { param } })

export class StoredConversations extends Context.Service<StoredConversations, {
  readonly create: (keyId: string | null, metadata: string, items: ReadonlyArray<unknown>) => Effect.Effect<StoredConversation, StoreError>
  /** Null for an unknown or expired one, and for another caller's. */
  readonly find: (id: string, keyId: string | null) => Effect.Effect<StoredConversation | null, StoreError>
  /** Whether it is kept, but for another caller. */
  readonly isAnothers: (id: string, keyId: string | null) => Effect.Effect<boolean, StoreError>
  readonly setMetadata: (conversation: StoredConversation, metadata: string) => Effect.Effect<StoredConversation, StoreError>
  readonly remove: (id: string) => Effect.Effect<void, StoreError>
  /** The oldest first, with what requests of this process have just said. */
  readonly items: (id: string) => Effect.Effect<ReadonlyArray<StoredItem>, StoreError>
  /** Null when the conversation is gone. */
  readonly append: (id: string, items: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<StoredItem> | null, StoreError>
  /** The same in the background, for an answer that goes to its client meanwhile. */
  readonly note: (id: string, items: ReadonlyArray<unknown>) => void
  readonly removeItem: (id: string, itemId: string) => Effect.Effect<boolean, StoreError>
}>()("gateway/features/responses/StoredConversations") {}

/** What a client named keeps its name; other items are named beside their text, so that no provider is told of a name that it did not give. */
const named = (item: unknown): StoredItem => {
  const id = Json.isRecord(item) && typeof item["id"] === "string" && item["id"] !== "" ? item["id"] : `${Json.isRecord(item) && isMessage(item) ? "msg" : "item"}_${makeResponseId()}`
  return { id, item: JSON.stringify(item) }
}

const isMessage = (item: Readonly<Record<string, unknown>>): boolean => item["type"] === undefined || item["type"] === "message"

export const make = (retentionDays: number) => Effect.gen(function*() {
  const store = yield* ConversationStore
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const expiresAt = () => now() + retentionDays * dayMs
  /** What is being appended in the background, the newest of each conversation; each waits for the one before it. */
  const appending = new Map<string, Deferred.Deferred<void>>()
  const over = (last: Deferred.Deferred<void> | undefined): Effect.Effect<void> => last === undefined ? Effect.void : Deferred.await(last)
  const settled = (id: string): Effect.Effect<void> => Effect.suspend(() => over(appending.get(id)))

  const append = (id: string, items: ReadonlyArray<unknown>) => Effect.suspend(() => {
    const those = items.map(named)
    return Effect.map(store.append(id, those, expiresAt()), (isThere) => isThere ? those : null)
  })

  return StoredConversations.of({
    create: (keyId, metadata, items) => Effect.suspend(() => {
      const createdAt = now()
      const conversation = { id: `conv_${makeResponseId()}`, keyId, createdAt, expiresAt: expiresAt(), metadata }
      return Effect.as(store.create(conversation, items.map(named)), conversation)
    }),
    find: (id, keyId) => Effect.map(store.find(id, now()), (found) => found === null || found.keyId !== keyId ? null : found),
    isAnothers: (id, keyId) => Effect.map(store.find(id, now()), (found) => found !== null && found.keyId !== keyId),
    setMetadata: (conversation, metadata) => Effect.suspend(() => Effect.as(store.setMetadata(conversation.id, metadata, expiresAt()), { ...conversation, metadata })),
    remove: store.remove,
    items: (id) => Effect.andThen(settled(id), store.items(id)),
    append: (id, items) => Effect.andThen(settled(id), append(id, items)),
    note: (id, items) => {
      const before = over(appending.get(id))
      const done = Deferred.makeUnsafe<void>()
      appending.set(id, done)
      fork(Effect.andThen(before, append(id, items)).pipe(
        Effect.flatMap((those) => those === null ? Effect.logDebug("A conversation was deleted while it was answered") : Effect.void),
        Effect.catchTag("StoreError", (error) => Effect.logWarning(`What was said in a conversation could not be kept: ${error.message}`)),
        Effect.ensuring(Effect.suspend(() => {
          if (appending.get(id) === done) appending.delete(id)
          return Deferred.succeed(done, undefined)
        }))
      ))
    },
    removeItem: (id, itemId) => Effect.andThen(settled(id), store.removeItem(id, itemId))
  })
})

/** `retentionDays`: how long a conversation is kept after its last change. */
export const layer = (retentionDays: number) => Layer.effect(StoredConversations, make(retentionDays))
