/** Batches, and the answers of their lines until they are in files; times are ms since the epoch. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE batches (
      id            text COLLATE "C" CONSTRAINT batches_id_key PRIMARY KEY,
      owner_key_id  text COLLATE "C",
      input_file_id text COLLATE "C" NOT NULL,
      status        text NOT NULL,
      is_over       boolean NOT NULL,
      created_at    bigint NOT NULL,
      version       integer NOT NULL,
      cursor_line   integer NOT NULL,
      cursor_offset bigint NOT NULL,
      record        text NOT NULL
    )`
  yield* sql`CREATE INDEX batches_created ON batches (created_at, id)`
  yield* sql`CREATE INDEX batches_owner ON batches (owner_key_id, created_at, id)`
  yield* sql`CREATE INDEX batches_open ON batches (created_at) WHERE NOT is_over`
  yield* sql`CREATE INDEX batches_input ON batches (input_file_id)`
  yield* sql`
    CREATE TABLE batch_lines (
      batch_id text COLLATE "C" NOT NULL REFERENCES batches (id) ON DELETE CASCADE,
      line     integer NOT NULL,
      failed   boolean NOT NULL,
      text     text NOT NULL,
      CONSTRAINT batch_lines_key PRIMARY KEY (batch_id, line)
    )`
})
