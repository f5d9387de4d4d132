/** Calls of MCP tools: a hash of their input, never the input. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE mcp_calls (
      seq            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      id             text COLLATE "C" NOT NULL,
      tool_name      text COLLATE "C" NOT NULL,
      input_hash     text COLLATE "C" NOT NULL,
      output_summary text,
      duration_ms    double precision NOT NULL,
      api_key_id     text COLLATE "C",
      success        boolean NOT NULL,
      error_code     text,
      created_at     text COLLATE "C" NOT NULL
    )`
  yield* sql`CREATE INDEX mcp_calls_age ON mcp_calls (created_at)`
})
