/**
 * Vectors of entries of memories, each with the model that made it and a digest of the text that it was made from. They go with their
 * entries. Nodes are notified as of changes of entries, because they hold both together.
 */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE memory_vectors (
      memory_id  text COLLATE "C" CONSTRAINT memory_vectors_id_key PRIMARY KEY CONSTRAINT memory_vectors_entry REFERENCES memories (id) ON DELETE CASCADE,
      api_key_id text COLLATE "C" NOT NULL,
      model      text COLLATE "C" NOT NULL,
      digest     text COLLATE "C" NOT NULL,
      vector     bytea NOT NULL
    )`
  yield* sql`CREATE INDEX memory_vectors_owner ON memory_vectors (api_key_id, model)`
  for (const event of ["INSERT", "UPDATE"] as const) {
    yield* sql.unsafe(`
      CREATE TRIGGER memory_vectors_${event.toLowerCase()} AFTER ${event} ON memory_vectors REFERENCING NEW TABLE AS changed
      FOR EACH STATEMENT EXECUTE FUNCTION note_memory_changes()`)
  }
})
