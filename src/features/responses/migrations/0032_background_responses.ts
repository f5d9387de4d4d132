/** Responses in the background say what they are made of, so that another process can make them again. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE responses ADD COLUMN request text`
  yield* sql`ALTER TABLE responses ADD COLUMN run integer NOT NULL DEFAULT 1`
  yield* sql`CREATE INDEX responses_running ON responses (updated_at) WHERE status IN ('queued', 'in_progress')`
})
