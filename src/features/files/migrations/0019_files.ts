/** Records of files; times are ms since the epoch. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE files (
      id             text COLLATE "C" CONSTRAINT files_id_key PRIMARY KEY,
      owner_key_id   text COLLATE "C",
      filename       text NOT NULL,
      purpose        text COLLATE "C" NOT NULL,
      content_type   text NOT NULL,
      bytes          bigint NOT NULL,
      sha256         text COLLATE "C" NOT NULL,
      status         text NOT NULL,
      status_details text,
      created_at     bigint NOT NULL,
      expires_at     bigint
    )`
  yield* sql`CREATE INDEX files_owner ON files (owner_key_id, created_at, id)`
  yield* sql`CREATE INDEX files_created ON files (created_at, id)`
  yield* sql`CREATE INDEX files_expiry ON files (expires_at) WHERE expires_at IS NOT NULL`
})
