/** Generations drawn per lease owner, for ever, and the audit of leases; owners as SHA-256, times as ms since the epoch. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE lease_generations (
      owner      text COLLATE "C" CONSTRAINT lease_generations_owner_key PRIMARY KEY,
      generation bigint NOT NULL
    )`

  yield* sql`
    CREATE TABLE lease_changes (
      seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      kind        text NOT NULL,
      reason      text,
      at          bigint NOT NULL,
      owner       text COLLATE "C" NOT NULL,
      key_id      text COLLATE "C" NOT NULL,
      connection  text COLLATE "C" NOT NULL,
      generation  bigint NOT NULL,
      acquired_at bigint NOT NULL,
      renewed_at  bigint NOT NULL,
      expires_at  bigint NOT NULL,
      CONSTRAINT lease_changes_change_key UNIQUE (owner, generation, kind, connection, at)
    )`
})
