/**
 * What is remembered for API keys; every node is notified of the keys whose entries changed. A statement that changes many entries of a
 * key is one change, so each key has a row of its own for that. Times are ISO 8601 text. Entries go with their key.
 */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE memories (
      id         text COLLATE "C" CONSTRAINT memories_id_key PRIMARY KEY,
      api_key_id text COLLATE "C" NOT NULL,
      session_id text COLLATE "C" NOT NULL,
      type       text COLLATE "C" NOT NULL,
      key        text COLLATE "C" NOT NULL,
      content    text NOT NULL,
      metadata   json NOT NULL,
      created_at text COLLATE "C" NOT NULL,
      updated_at text COLLATE "C" NOT NULL,
      expires_at text COLLATE "C",
      tokens     bigint NOT NULL,
      CONSTRAINT memories_key_key UNIQUE (api_key_id, key)
    )`
  yield* sql`CREATE INDEX memories_newest ON memories (api_key_id, updated_at DESC, id)`
  yield* sql`CREATE INDEX memories_age ON memories (updated_at)`
  yield* sql`CREATE INDEX memories_expiry ON memories (expires_at) WHERE expires_at IS NOT NULL`

  yield* sql`
    CREATE TABLE memory_keys (
      api_key_id text COLLATE "C" CONSTRAINT memory_keys_id_key PRIMARY KEY,
      changes    bigint NOT NULL
    )`
  yield* sql`
    CREATE CONSTRAINT TRIGGER memory_keys_change AFTER INSERT OR UPDATE ON memory_keys
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_record_change('memory', 'api_key_id')`
  yield* sql`
    CREATE FUNCTION note_memory_changes() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO memory_keys (api_key_id, changes) SELECT DISTINCT api_key_id, 1 FROM changed ORDER BY 1
        ON CONFLICT (api_key_id) DO UPDATE SET changes = memory_keys.changes + 1;
      RETURN NULL;
    END $$`
  for (const [event, rows] of [["INSERT", "NEW"], ["UPDATE", "NEW"], ["DELETE", "OLD"]] as const) {
    yield* sql.unsafe(`
      CREATE TRIGGER memories_${event.toLowerCase()} AFTER ${event} ON memories REFERENCING ${rows} TABLE AS changed
      FOR EACH STATEMENT EXECUTE FUNCTION note_memory_changes()`)
  }

  yield* sql`
    CREATE FUNCTION forget_memories() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM memories WHERE api_key_id = OLD.id;
      RETURN NULL;
    END $$`
  yield* sql`CREATE TRIGGER api_keys_memories AFTER DELETE ON api_keys FOR EACH ROW EXECUTE FUNCTION forget_memories()`
})
