/** Who a session belongs to, as the issuer of single sign-on named them; null for sessions that the password opened. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE sessions ADD COLUMN issuer text, ADD COLUMN subject text`
})
