/** Limits of keys: budgets, token limits, issued keys and how many may be issued. USD are double precision, times ISO 8601 text. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE budgets (
      api_key_id        text COLLATE "C" CONSTRAINT budgets_api_key_id_key PRIMARY KEY,
      daily_limit_usd   double precision NOT NULL,
      weekly_limit_usd  double precision NOT NULL,
      monthly_limit_usd double precision NOT NULL,
      warning_threshold double precision NOT NULL,
      reset_interval    text NOT NULL,
      reset_time        text NOT NULL,
      created_at        text COLLATE "C" NOT NULL,
      updated_at        text COLLATE "C" NOT NULL
    )`

  yield* sql`
    CREATE TABLE token_limits (
      id             text COLLATE "C" CONSTRAINT token_limits_id_key PRIMARY KEY,
      api_key_id     text COLLATE "C" NOT NULL,
      scope_type     text NOT NULL,
      scope_value    text NOT NULL,
      token_limit    bigint NOT NULL,
      reset_interval text NOT NULL,
      reset_time     text NOT NULL,
      enabled        boolean NOT NULL,
      created_at     text COLLATE "C" NOT NULL,
      updated_at     text COLLATE "C" NOT NULL
    )`

  yield* sql`
    CREATE TABLE registered_keys (
      id              text COLLATE "C" CONSTRAINT registered_keys_id_key PRIMARY KEY,
      name            text NOT NULL,
      provider        text COLLATE "C" NOT NULL,
      account_id      text COLLATE "C" NOT NULL,
      key_prefix      text NOT NULL,
      issuer_id       text COLLATE "C",
      idempotency_key text COLLATE "C" CONSTRAINT registered_keys_idempotency_key_key UNIQUE,
      daily_budget    bigint,
      hourly_budget   bigint,
      expires_at      text COLLATE "C",
      created_at      text COLLATE "C" NOT NULL,
      revoked_at      text COLLATE "C"
    )`
  yield* sql`CREATE INDEX registered_keys_order ON registered_keys (created_at DESC, id DESC)`

  yield* sql`
    CREATE TABLE issue_limits (
      subject            text COLLATE "C" CONSTRAINT issue_limits_subject_key PRIMARY KEY,
      max_active_keys    bigint NOT NULL,
      daily_issue_limit  bigint NOT NULL,
      hourly_issue_limit bigint NOT NULL
    )`
})
