/** Beside the outcome of an attempt: the HTTP status that its client was given; 0 = none by this attempt. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE usage ADD COLUMN client_status integer NOT NULL DEFAULT 0`
  // Until now the status of a row was what its client was given.
  yield* sql`UPDATE usage SET client_status = status WHERE final AND status <> 499`
})
