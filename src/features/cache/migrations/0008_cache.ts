/** Answers that may be given again, one per signature; times are ms since the epoch, cost is USD. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE response_cache (
      signature  text COLLATE "C" CONSTRAINT response_cache_signature_key PRIMARY KEY,
      api_key_id text COLLATE "C",
      model      text COLLATE "C" NOT NULL,
      provider   text COLLATE "C" NOT NULL,
      strategy   text NOT NULL,
      format     text NOT NULL,
      body       text NOT NULL,
      tokens_in  bigint NOT NULL,
      tokens_out bigint NOT NULL,
      cost_usd   numeric(20, 10) NOT NULL,
      created_at bigint NOT NULL,
      expires_at bigint NOT NULL,
      hits       bigint NOT NULL DEFAULT 0
    )`
  yield* sql`CREATE INDEX response_cache_expiry ON response_cache (expires_at)`
  yield* sql`CREATE INDEX response_cache_age ON response_cache (created_at)`
  yield* sql`CREATE INDEX response_cache_by_model ON response_cache (model)`
})
