/** The ledger: one row per upstream attempt, unique by attempt id. Times are ms since the epoch, durations ms, cost USD. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE usage (
      attempt_id            text COLLATE "C" CONSTRAINT usage_attempt_id_key PRIMARY KEY,
      request_id            text COLLATE "C" NOT NULL,
      attempt               integer NOT NULL,
      final                 boolean NOT NULL,
      started_at            bigint NOT NULL,
      settled_at            bigint NOT NULL,
      node_id               text COLLATE "C" NOT NULL,
      endpoint              text NOT NULL,
      requested_model       text NOT NULL,
      provider              text COLLATE "C" NOT NULL,
      model                 text COLLATE "C" NOT NULL,
      connection_id         text COLLATE "C",
      api_key_id            text COLLATE "C",
      api_key_name          text,
      combo                 text,
      session_tag           text,
      source_format         text NOT NULL,
      target_format         text NOT NULL,
      stream                boolean NOT NULL,
      outcome               text NOT NULL,
      upstream_status       integer NOT NULL,
      status                integer NOT NULL,
      error_code            text,
      phase                 text,
      tokens_in             bigint NOT NULL,
      tokens_out            bigint NOT NULL,
      tokens_cache_read     bigint NOT NULL,
      tokens_cache_creation bigint NOT NULL,
      tokens_reasoning      bigint NOT NULL,
      estimated             boolean NOT NULL,
      cost_usd              numeric(20, 10) NOT NULL,
      latency_ms            double precision NOT NULL,
      ttft_ms               double precision
    )`
  yield* sql`CREATE INDEX usage_time ON usage (started_at)`
  yield* sql`CREATE INDEX usage_by_key ON usage (api_key_id, started_at)`
  yield* sql`CREATE INDEX usage_by_request ON usage (request_id)`
  yield* sql`CREATE INDEX usage_by_node ON usage (node_id, outcome)`
})
