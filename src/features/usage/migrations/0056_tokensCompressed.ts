/** By how many estimated tokens a prompt was sent shorter: null on rows of older releases. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE usage ADD COLUMN tokens_compressed bigint`
})
