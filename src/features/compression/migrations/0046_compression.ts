/** What compression of prompts saved, by hour, and which batches of it were added; tokens are estimated. The row with engine '' is of the whole request. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE compression_hours (
      mode      text COLLATE "C" NOT NULL,
      combo_id  text COLLATE "C" NOT NULL,
      engine    text COLLATE "C" NOT NULL,
      hour      bigint NOT NULL,
      requests  bigint NOT NULL,
      before    bigint NOT NULL,
      after     bigint NOT NULL,
      fallbacks bigint NOT NULL,
      CONSTRAINT compression_hours_pkey PRIMARY KEY (mode, combo_id, engine, hour)
    )`
  yield* sql`
    CREATE TABLE compression_batches (
      id text COLLATE "C" CONSTRAINT compression_batches_id_key PRIMARY KEY,
      at bigint NOT NULL
    )`
  yield* sql`CREATE INDEX compression_batches_at ON compression_batches (at)`
  yield* sql`CREATE INDEX compression_hours_hour ON compression_hours (hour)`
})
