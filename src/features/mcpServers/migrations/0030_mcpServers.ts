/** MCP servers whose tools the gateway offers; every node is notified of a change. Times are ISO 8601 text. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE mcp_servers (
      id            text COLLATE "C" CONSTRAINT mcp_servers_id_key PRIMARY KEY,
      name          text COLLATE "C" NOT NULL CONSTRAINT mcp_servers_name_key UNIQUE,
      description   text,
      transport     text NOT NULL,
      address       text NOT NULL,
      enabled       boolean NOT NULL,
      access        text NOT NULL,
      allowed_tools json NOT NULL,
      blocked_tools json NOT NULL,
      scopes        json NOT NULL,
      timeout_ms    bigint NOT NULL,
      created_at    text COLLATE "C" NOT NULL,
      updated_at    text COLLATE "C" NOT NULL
    )`
  yield* sql`
    CREATE CONSTRAINT TRIGGER mcp_servers_change AFTER INSERT OR UPDATE OR DELETE ON mcp_servers
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_record_change('mcp-server', 'id')`
})
