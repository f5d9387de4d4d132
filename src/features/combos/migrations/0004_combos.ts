/** Combos by unique name, and the patterns that map model ids to them; steps and configuration are json, times ISO 8601 text. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE combos (
      id                       text COLLATE "C" CONSTRAINT combos_id_key PRIMARY KEY,
      name                     text COLLATE "C" NOT NULL CONSTRAINT combos_name_key UNIQUE,
      description              text,
      models                   json NOT NULL,
      strategy                 text NOT NULL,
      config                   json NOT NULL,
      allowed_providers        json NOT NULL,
      system_message           text,
      tool_filter_regex        text,
      context_cache_protection boolean NOT NULL,
      context_length           bigint,
      dimensions               text,
      is_active                boolean NOT NULL,
      is_hidden                boolean NOT NULL,
      sort_order               bigint NOT NULL,
      created_at               text COLLATE "C" NOT NULL,
      updated_at               text COLLATE "C" NOT NULL
    )`

  yield* sql`
    CREATE TABLE combo_mappings (
      id          text COLLATE "C" CONSTRAINT combo_mappings_id_key PRIMARY KEY,
      pattern     text NOT NULL,
      combo_id    text COLLATE "C" NOT NULL,
      priority    bigint NOT NULL,
      enabled     boolean NOT NULL,
      description text,
      created_at  text COLLATE "C" NOT NULL,
      updated_at  text COLLATE "C" NOT NULL
    )`
})
