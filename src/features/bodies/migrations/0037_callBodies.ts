/** Bodies of calls, one row per request under the id of its first attempt; times are ms since the epoch. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE call_bodies (
      id         text COLLATE "C" CONSTRAINT call_bodies_id_key PRIMARY KEY,
      created_at bigint NOT NULL,
      bytes      bigint NOT NULL,
      sealed     text NOT NULL
    )`
  yield* sql`CREATE INDEX call_bodies_age ON call_bodies (created_at, id, bytes)`
})
