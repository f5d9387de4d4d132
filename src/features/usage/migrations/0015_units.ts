/** What an attempt used beside tokens, and whether it had a price. Rows of older releases used nothing else. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE usage ADD COLUMN units jsonb, ADD COLUMN unpriced boolean NOT NULL DEFAULT false`
})
