/**
 * The outbound proxy that a call left by: null on rows of calls that went direct, and of older releases. Only rows with one are in the
 * index, so that calls without a proxy pay nothing for it.
 */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE usage ADD COLUMN proxy_id text COLLATE "C"`
  yield* sql`CREATE INDEX usage_proxied ON usage (started_at DESC, attempt_id DESC) WHERE proxy_id IS NOT NULL`
})
