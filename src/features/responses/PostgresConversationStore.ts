/** Stored conversations in Postgres. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import * as Operation from "#src/platform/postgres/operation.ts"
import { stored } from "#src/platform/postgres/text.ts"
import { ConversationStore, type StoredConversation, type StoredItem } from "./ConversationStore.ts"

type Row = Omit<StoredConversation, "createdAt" | "expiresAt"> & { readonly createdAt: unknown; readonly expiresAt: unknown }

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("ConversationStore", options)

  const insertItems = (id: string, items: ReadonlyArray<StoredItem>, after: number) => {
    const [first, ...rest] = items.map(({ id: itemId, item }, i) => ({ conversation_id: id, place: after + i + 1, item_id: itemId, item: stored(item) }))
    return first === undefined ? Effect.void : Effect.asVoid(sql`INSERT INTO conversation_items ${sql.insert([first, ...rest])}`)
  }

  /** The conversation's row is locked, so that two requests append one after the other. */
  const append = Effect.fnUntraced(function*(id: string, items: ReadonlyArray<StoredItem>, expiresAt: number) {
    const rows = yield* sql`UPDATE conversations SET expires_at = ${expiresAt} WHERE id = ${id} RETURNING id`
    if (rows.length === 0) return false
    const [last] = yield* sql<{ readonly place: unknown }>`SELECT coalesce(max(place), 0) AS place FROM conversation_items WHERE conversation_id = ${id}`
    yield* insertItems(id, items, Number(last?.place ?? 0))
    return true
  })

  return ConversationStore.of({
    create: ({ createdAt, expiresAt, id, keyId, metadata }, items) => run("create", sql.withTransaction(Effect.andThen(
      sql`INSERT INTO conversations ${sql.insert({ id, key_id: keyId, created_at: createdAt, expires_at: expiresAt, metadata: stored(metadata) })}`,
      insertItems(id, items, 0)
    ))),
    find: (id, now) => run("find", Effect.map(
      sql<Row>`SELECT id, key_id AS "keyId", created_at AS "createdAt", expires_at AS "expiresAt", metadata FROM conversations WHERE id = ${id} AND expires_at > ${now}`,
      ([row]) => row === undefined ? null : { ...row, createdAt: Number(row.createdAt), expiresAt: Number(row.expiresAt) }
    )),
    setMetadata: (id, metadata, expiresAt) => run("setMetadata", Effect.asVoid(sql`UPDATE conversations SET metadata = ${stored(metadata)}, expires_at = ${expiresAt} WHERE id = ${id}`)),
    remove: (id) => run("remove", Effect.asVoid(sql`DELETE FROM conversations WHERE id = ${id}`)),
    items: (id) => run("items", sql<StoredItem>`SELECT item_id AS id, item FROM conversation_items WHERE conversation_id = ${id} ORDER BY place`),
    append: (id, items, expiresAt) => run("append", sql.withTransaction(append(id, items, expiresAt))),
    removeItem: (id, itemId) => run("removeItem", Effect.map(
      sql`DELETE FROM conversation_items WHERE conversation_id = ${id} AND item_id = ${itemId} RETURNING item_id`, (rows) => rows.length > 0
    )),
    removeExpired: (now) => Operation.removeAll(run("removeExpired", sql`
      DELETE FROM conversations WHERE id IN (SELECT id FROM conversations WHERE expires_at <= ${now} LIMIT ${Operation.REMOVED_AT_ONCE}) RETURNING 1`))
  })
})

export const layer = (options: Operation.StoreOptions) => Layer.effect(ConversationStore, make(options))
