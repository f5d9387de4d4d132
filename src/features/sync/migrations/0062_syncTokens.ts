/** Sync tokens, by hash. Times are ISO 8601 text. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE sync_tokens (
      id              text COLLATE "C" CONSTRAINT sync_tokens_id_key PRIMARY KEY,
      name            text NOT NULL,
      token_hash      text NOT NULL CONSTRAINT sync_tokens_token_hash_key UNIQUE,
      sync_api_key_id text,
      revoked_at      text COLLATE "C",
      last_used_at    text COLLATE "C",
      created_at      text COLLATE "C" NOT NULL,
      updated_at      text COLLATE "C" NOT NULL
    )`
})
