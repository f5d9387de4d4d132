/**
 * Outbound proxies and what is assigned to them; every node is notified of a change. Username and password are sealed. Times are
 * ISO 8601 text. An assignment goes with its proxy, and with the record that it is for.
 */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

/** Tables whose records may have a proxy, and the scope of their assignments. */
const assigned = [["provider_nodes", "provider"], ["connections", "account"], ["combos", "combo"], ["api_keys", "key"]] as const

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE proxies (
      id         text COLLATE "C" CONSTRAINT proxies_id_key PRIMARY KEY,
      name       text NOT NULL,
      type       text NOT NULL,
      host       text NOT NULL,
      port       bigint NOT NULL,
      username   text,
      password   text,
      region     text,
      notes      text,
      status     text NOT NULL,
      source     text NOT NULL,
      family     text NOT NULL,
      created_at text COLLATE "C" NOT NULL,
      updated_at text COLLATE "C" NOT NULL
    )`
  yield* sql`
    CREATE TABLE proxy_assignments (
      scope       text COLLATE "C" NOT NULL,
      scope_id    text COLLATE "C" NOT NULL,
      proxy_id    text COLLATE "C" NOT NULL CONSTRAINT proxy_assignments_proxy_id_known REFERENCES proxies (id) ON DELETE CASCADE,
      assigned_at text COLLATE "C" NOT NULL,
      PRIMARY KEY (scope, scope_id)
    )`
  yield* sql`CREATE INDEX proxy_assignments_proxy ON proxy_assignments (proxy_id)`
  yield* sql`
    CREATE CONSTRAINT TRIGGER proxies_change AFTER INSERT OR UPDATE OR DELETE ON proxies
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_record_change('proxy', 'id')`
  yield* sql`
    CREATE CONSTRAINT TRIGGER proxy_assignments_change AFTER INSERT OR UPDATE OR DELETE ON proxy_assignments
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_record_change('proxy-assignment', 'scope', 'scope_id')`

  yield* sql`
    CREATE FUNCTION forget_proxy_assignment() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM proxy_assignments WHERE scope = TG_ARGV[0] AND scope_id = OLD.id;
      RETURN NULL;
    END $$`
  for (const [table, scope] of assigned) {
    yield* sql.unsafe(`
      CREATE TRIGGER ${table}_proxy AFTER DELETE ON ${table}
      FOR EACH ROW EXECUTE FUNCTION forget_proxy_assignment('${scope}')`)
  }
})
