/** Tasks of cloud agents. Times are ISO 8601 text. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE cloud_tasks (
      id               text COLLATE "C" CONSTRAINT cloud_tasks_id_key PRIMARY KEY,
      provider_id      text NOT NULL,
      external_id      text,
      status           text NOT NULL,
      prompt           text NOT NULL,
      source           json NOT NULL,
      options          json NOT NULL,
      result           json,
      activities       json NOT NULL,
      error            text,
      conversation_url text,
      created_at       text COLLATE "C" NOT NULL,
      updated_at       text COLLATE "C" NOT NULL,
      completed_at     text COLLATE "C"
    )`
  yield* sql`CREATE INDEX cloud_tasks_created ON cloud_tasks (created_at, id)`
})
