/** Plugins and their code; every node is notified of a change. Times are ISO 8601 text. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE plugins (
      name          text COLLATE "C" CONSTRAINT plugins_name_key PRIMARY KEY,
      version       text COLLATE "C" NOT NULL,
      manifest      json NOT NULL,
      code          text NOT NULL,
      integrity     text NOT NULL,
      status        text NOT NULL,
      config        json NOT NULL,
      installed_at  text COLLATE "C" NOT NULL,
      activated_at  text COLLATE "C",
      error_message text,
      updated_at    text COLLATE "C" NOT NULL
    )`
  yield* sql`
    CREATE CONSTRAINT TRIGGER plugins_change AFTER INSERT OR UPDATE OR DELETE ON plugins
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_record_change('plugin', 'name')`
})
