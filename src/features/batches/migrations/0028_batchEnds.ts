/** Which batches are over and not told to webhooks; those from before are taken as told. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE batches ADD COLUMN untold boolean NOT NULL DEFAULT FALSE`
  yield* sql`CREATE INDEX batches_untold ON batches (created_at, id) WHERE untold`
})
