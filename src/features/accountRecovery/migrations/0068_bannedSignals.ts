/** How many calls in a row a connection's upstream answered with the word that its account is banned. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE connections ADD COLUMN banned_signals integer NOT NULL DEFAULT 0`
})
