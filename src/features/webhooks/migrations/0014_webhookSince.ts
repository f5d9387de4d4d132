/** When a webhook was made or last switched on: it gets no earlier event. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  // The default is for nodes of the release before, which do not name the column: such a webhook gets every event.
  yield* sql`ALTER TABLE webhooks ADD COLUMN enabled_at text COLLATE "C" NOT NULL DEFAULT ''`
  yield* sql`UPDATE webhooks SET enabled_at = created_at`
})
