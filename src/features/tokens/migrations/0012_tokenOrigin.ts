/** Whether the management password stands behind an access token. Of tokens from before that is assumed: it was the usual way. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE access_tokens ADD COLUMN by_password boolean NOT NULL DEFAULT true`
})
