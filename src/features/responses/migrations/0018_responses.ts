/** Responses that clients asked to be kept; times are ms since the epoch. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE responses (
      id         text COLLATE "C" CONSTRAINT responses_id_key PRIMARY KEY,
      key_id     text COLLATE "C",
      created_at bigint NOT NULL,
      expires_at bigint NOT NULL,
      updated_at bigint NOT NULL,
      status     text NOT NULL,
      input      text NOT NULL,
      response   text NOT NULL
    )`
  yield* sql`CREATE INDEX responses_expiry ON responses (expires_at)`
})
