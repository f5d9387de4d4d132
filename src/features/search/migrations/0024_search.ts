/** What searches came to, by hour, and which batches of them were added; `cost` in units of 1e-10 USD, `duration` in ms. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE search_hours (
      key_id        text COLLATE "C" NOT NULL,
      provider      text COLLATE "C" NOT NULL,
      connection_id text COLLATE "C" NOT NULL,
      hour          bigint NOT NULL,
      requests      bigint NOT NULL,
      attempts      bigint NOT NULL,
      cached        bigint NOT NULL,
      errors        bigint NOT NULL,
      cost          bigint NOT NULL,
      duration      bigint NOT NULL,
      CONSTRAINT search_hours_pkey PRIMARY KEY (key_id, provider, connection_id, hour)
    )`
  yield* sql`
    CREATE TABLE search_batches (
      id text COLLATE "C" CONSTRAINT search_batches_id_key PRIMARY KEY,
      at bigint NOT NULL
    )`
  yield* sql`CREATE INDEX search_batches_at ON search_batches (at)`
  yield* sql`CREATE INDEX search_hours_hour ON search_hours (hour)`
})
