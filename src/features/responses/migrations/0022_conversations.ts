/** Conversations that clients keep, and their items; times are ms since the epoch. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE conversations (
      id         text COLLATE "C" CONSTRAINT conversations_id_key PRIMARY KEY,
      key_id     text COLLATE "C",
      created_at bigint NOT NULL,
      expires_at bigint NOT NULL,
      metadata   text NOT NULL
    )`
  yield* sql`CREATE INDEX conversations_expiry ON conversations (expires_at)`
  yield* sql`
    CREATE TABLE conversation_items (
      conversation_id text COLLATE "C" NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
      place           bigint NOT NULL,
      item_id         text COLLATE "C" NOT NULL,
      item            text NOT NULL,
      PRIMARY KEY (conversation_id, place)
    )`
  yield* sql`CREATE INDEX conversation_items_id ON conversation_items (conversation_id, item_id)`
})
