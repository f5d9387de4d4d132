/** Which key issued a key: an issued key may do what its issuer may at the moment. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE api_keys ADD COLUMN issuer_id text COLLATE "C"`
  yield* sql`UPDATE api_keys SET issuer_id = registered_keys.issuer_id FROM registered_keys WHERE registered_keys.id = api_keys.id`
})
