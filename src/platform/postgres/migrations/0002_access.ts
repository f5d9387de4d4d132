/** Credentials of callers: API keys by hash, dashboard sessions (ms since the epoch), tokens of remote command lines, the audit log. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE api_keys (
      id           text COLLATE "C" CONSTRAINT api_keys_id_key PRIMARY KEY,
      name         text NOT NULL,
      key_hash     text COLLATE "C" NOT NULL CONSTRAINT api_keys_key_hash_key UNIQUE,
      key_prefix   text NOT NULL,
      key_suffix   text NOT NULL,
      sealed_key   text,
      machine_id   text NOT NULL,
      policy       json NOT NULL,
      created_at   text COLLATE "C" NOT NULL,
      updated_at   text COLLATE "C" NOT NULL,
      last_used_at text COLLATE "C",
      revoked_at   text COLLATE "C"
    )`
  yield* sql`CREATE INDEX api_keys_order ON api_keys (created_at DESC, id DESC)`

  yield* sql`
    CREATE TABLE sessions (
      id         text COLLATE "C" CONSTRAINT sessions_id_key PRIMARY KEY,
      created_at double precision NOT NULL,
      expires_at double precision NOT NULL,
      revoked_at double precision,
      ip_address text
    )`
  yield* sql`CREATE INDEX sessions_expiry ON sessions (expires_at)`

  yield* sql`
    CREATE TABLE access_tokens (
      id           text COLLATE "C" CONSTRAINT access_tokens_id_key PRIMARY KEY,
      name         text NOT NULL,
      scope        text NOT NULL,
      token_hash   text COLLATE "C" NOT NULL CONSTRAINT access_tokens_token_hash_key UNIQUE,
      token_prefix text NOT NULL,
      created_at   text COLLATE "C" NOT NULL,
      expires_at   text COLLATE "C",
      last_used_at text COLLATE "C"
    )`

  yield* sql`
    CREATE TABLE audit_log (
      seq           bigint GENERATED ALWAYS AS IDENTITY,
      id            text COLLATE "C" CONSTRAINT audit_log_id_key PRIMARY KEY,
      timestamp     text COLLATE "C" NOT NULL,
      action        text NOT NULL,
      actor         text NOT NULL,
      target        text,
      details       json NOT NULL,
      ip_address    text,
      resource_type text,
      status        text NOT NULL,
      request_id    text
    )`
  yield* sql`CREATE INDEX audit_log_order ON audit_log (timestamp DESC, seq DESC)`
})
