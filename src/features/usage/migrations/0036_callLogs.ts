/** Pages of the call log: an index in their order. Where the time of an attempt went: null on rows of older releases. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE usage ADD COLUMN phases jsonb`
  yield* sql`CREATE INDEX usage_order ON usage (started_at, attempt_id)`
  yield* sql`DROP INDEX usage_time`
})
