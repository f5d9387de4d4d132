/** Tasks of agents and the receivers of their changes; times are ms since the epoch. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE a2a_tasks (
      id           text COLLATE "C" CONSTRAINT a2a_tasks_id_key PRIMARY KEY,
      owner        text COLLATE "C" NOT NULL,
      context_id   text COLLATE "C" NOT NULL,
      skill        text COLLATE "C" NOT NULL,
      state        text COLLATE "C" NOT NULL,
      revision     bigint NOT NULL,
      created_at   bigint NOT NULL,
      updated_at   bigint NOT NULL,
      completed_at bigint,
      expires_at   bigint NOT NULL,
      gone_at      bigint NOT NULL,
      beat_at      bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
      is_private   boolean NOT NULL,
      content      text NOT NULL
    )`
  yield* sql`CREATE INDEX a2a_tasks_owner ON a2a_tasks (owner, created_at)`
  yield* sql`CREATE INDEX a2a_tasks_running ON a2a_tasks (beat_at) WHERE state IN ('submitted', 'working')`
  yield* sql`CREATE INDEX a2a_tasks_gone ON a2a_tasks (gone_at)`
  yield* sql`
    CREATE TABLE a2a_push_configs (
      task_id  text COLLATE "C" NOT NULL REFERENCES a2a_tasks (id) ON DELETE CASCADE,
      id       text COLLATE "C" NOT NULL,
      receiver text NOT NULL,
      PRIMARY KEY (task_id, id)
    )`
})
