/** Tunnels of outbound proxies by the hour: how many were made, how many calls failed for want of one. `hour`: ms since the epoch. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE proxy_health (
      proxy_id   text COLLATE "C" NOT NULL REFERENCES proxies (id) ON DELETE CASCADE,
      hour       bigint NOT NULL,
      made       bigint NOT NULL,
      failed     bigint NOT NULL,
      latency_ms double precision NOT NULL,
      last_error text,
      PRIMARY KEY (proxy_id, hour)
    )`
  yield* sql`CREATE INDEX proxy_health_age ON proxy_health (hour)`
})
