/**
 * What several nodes share: the version of the records with the log of changes, and the table of nodes. Triggers write the log in
 * the transaction of each change, whatever its source; they wait for its commit, so that the version's row is locked for an
 * instant only and versions follow the order of the commits.
 */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

/** Table, kind of change, and the columns that name the record. */
const watched = [
  ["connections", "connection", "id"],
  ["provider_nodes", "node", "id"],
  ["custom_models", "custom-model", "provider"],
  ["combos", "combo", "id"],
  ["combo_mappings", "combo-mapping", "id"],
  ["budgets", "budget", "api_key_id"],
  ["token_limits", "token-limit", "id"],
  ["documents", "document", "kind", "key"]
] as const

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE record_version (one boolean PRIMARY KEY DEFAULT true CHECK (one), version bigint NOT NULL)`
  yield* sql`
    CREATE TABLE record_changes (
      version bigint PRIMARY KEY,
      kind    text COLLATE "C" NOT NULL,
      id      text COLLATE "C" NOT NULL
    )`
  yield* sql`
    CREATE TABLE cluster_nodes (
      id           text COLLATE "C" CONSTRAINT cluster_nodes_id_key PRIMARY KEY,
      incarnation  text NOT NULL,
      host         text NOT NULL,
      address      text NOT NULL,
      pid          bigint NOT NULL,
      worker       bigint NOT NULL,
      release      text NOT NULL,
      started_at   double precision NOT NULL,
      last_seen_at double precision NOT NULL,
      version      bigint NOT NULL,
      version_at   double precision NOT NULL
    )`

  // Arguments: the kind of change, one or two columns whose values name the record.
  yield* sql`
    CREATE FUNCTION note_record_change() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      next bigint;
      name text;
      part text;
    BEGIN
      EXECUTE format('SELECT ($1).%I::text', TG_ARGV[1]) INTO name USING CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
      IF TG_NARGS > 2 THEN
        EXECUTE format('SELECT ($1).%I::text', TG_ARGV[2]) INTO part USING CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
        name := name || '/' || part;
      END IF;
      INSERT INTO record_version (version) VALUES (1)
        ON CONFLICT (one) DO UPDATE SET version = record_version.version + 1 RETURNING version INTO next;
      INSERT INTO record_changes (version, kind, id) VALUES (next, TG_ARGV[0], name);
      RETURN NULL;
    END $$`

  for (const [table, ...names] of watched) {
    yield* sql.unsafe(`
      CREATE CONSTRAINT TRIGGER ${table}_change AFTER INSERT OR UPDATE OR DELETE ON ${table}
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_record_change(${names.map((name) => `'${name}'`).join(", ")})`)
  }
  // The time of last use is written often and changes no behaviour.
  yield* sql`
    CREATE CONSTRAINT TRIGGER api_keys_change
    AFTER INSERT OR DELETE OR UPDATE OF id, name, key_hash, key_prefix, key_suffix, sealed_key, machine_id, policy, created_at, revoked_at
    ON api_keys DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_record_change('key', 'id')`
})
