/** Skills and what became of their executions. Times are ISO 8601 text. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE skills (
      id              text COLLATE "C" CONSTRAINT skills_id_key PRIMARY KEY,
      api_key_id      text COLLATE "C",
      name            text COLLATE "C" NOT NULL,
      version         text COLLATE "C" NOT NULL,
      description     text NOT NULL,
      schema          json NOT NULL,
      handler         text NOT NULL,
      enabled         boolean NOT NULL,
      mode            text NOT NULL,
      tags            json NOT NULL,
      source_provider text NOT NULL,
      install_count   bigint NOT NULL,
      created_at      text COLLATE "C" NOT NULL,
      updated_at      text COLLATE "C" NOT NULL,
      CONSTRAINT skills_version_key UNIQUE (name, version)
    )`
  yield* sql`
    CREATE TABLE skill_executions (
      id            text COLLATE "C" CONSTRAINT skill_executions_id_key PRIMARY KEY,
      skill_id      text COLLATE "C" NOT NULL,
      api_key_id    text COLLATE "C" NOT NULL,
      session_id    text,
      input         text NOT NULL,
      output        text NOT NULL,
      status        text NOT NULL,
      error_message text,
      duration_ms   bigint,
      created_at    text COLLATE "C" NOT NULL
    )`
  yield* sql`CREATE INDEX skill_executions_newest ON skill_executions (created_at DESC, id DESC)`
})
