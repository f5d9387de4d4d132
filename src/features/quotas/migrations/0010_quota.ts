/** What was left of quota windows: a row per change that matters. Times are ms since the epoch. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE quota_snapshots (
      seq                  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      provider             text COLLATE "C" NOT NULL,
      connection_id        text COLLATE "C" NOT NULL,
      model                text COLLATE "C",
      window_key           text COLLATE "C" NOT NULL,
      remaining_percentage double precision NOT NULL,
      is_exhausted         boolean NOT NULL,
      next_reset_at        bigint,
      window_duration_ms   bigint,
      raw_data             json NOT NULL,
      created_at           bigint NOT NULL
    )`
  yield* sql`CREATE INDEX quota_snapshots_time ON quota_snapshots (created_at)`
  yield* sql`CREATE INDEX quota_snapshots_by_connection ON quota_snapshots (connection_id, created_at)`
})
