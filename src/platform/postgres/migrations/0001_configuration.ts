/**
 * What an operator configures. Times are the records' own ISO 8601 text (`COLLATE "C"` sorts it by time), so that a store
 * gives back exactly what it was given; whole numbers are as wide as the records allow. Structures are `json`, not
 * `jsonb`: it keeps every legal JSON text, NUL and lone surrogates included.
 */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE connections (
      id                      text COLLATE "C" CONSTRAINT connections_id_key PRIMARY KEY,
      provider                text COLLATE "C" NOT NULL,
      auth_type               text NOT NULL,
      name                    text NOT NULL,
      email                   text,
      display_name            text,
      priority                bigint NOT NULL,
      global_priority         bigint,
      is_active               boolean NOT NULL,
      api_key                 text,
      access_token            text,
      refresh_token           text,
      id_token                text,
      token_type              text,
      scope                   text,
      project_id              text,
      expires_at              text,
      token_expires_at        text,
      expires_in              bigint,
      test_status             text NOT NULL,
      last_error              text,
      last_error_type         text,
      last_error_source       text,
      error_code              text,
      last_error_at           text,
      last_tested             text,
      last_health_check_at    text,
      backoff_level           bigint NOT NULL,
      rate_limited_until      text,
      health_check_interval   bigint,
      provider_specific_data  json NOT NULL,
      default_model           text,
      consecutive_use_count   bigint NOT NULL,
      rate_limit_protection   boolean NOT NULL,
      max_concurrent          bigint,
      "group"                 text,
      quota_window_thresholds json,
      rate_limit_overrides    json,
      proxy_enabled           boolean NOT NULL,
      per_key_proxy_enabled   boolean NOT NULL,
      quota_visible           boolean NOT NULL,
      created_at              text COLLATE "C" NOT NULL,
      updated_at              text COLLATE "C" NOT NULL
    )`
  yield* sql`CREATE INDEX connections_order ON connections (provider, priority, created_at)`

  yield* sql`
    CREATE TABLE provider_nodes (
      id                         text COLLATE "C" CONSTRAINT provider_nodes_id_key PRIMARY KEY,
      type                       text NOT NULL,
      name                       text NOT NULL,
      prefix                     text NOT NULL CONSTRAINT provider_nodes_prefix_key UNIQUE,
      api_type                   text,
      base_url                   text NOT NULL,
      chat_path                  text,
      models_path                text,
      icon_url                   text,
      custom_headers             json NOT NULL,
      daily_quota_reset_timezone text,
      daily_quota_reset_hour     bigint,
      created_at                 text COLLATE "C" NOT NULL,
      updated_at                 text COLLATE "C" NOT NULL
    )`

  yield* sql`
    CREATE TABLE custom_models (
      provider                text COLLATE "C" NOT NULL,
      model_id                text COLLATE "C" NOT NULL,
      model_name              text,
      source                  text NOT NULL,
      api_format              text NOT NULL,
      supported_endpoints     json NOT NULL,
      target_format           text,
      model_type              text,
      max_input_tokens        bigint,
      max_output_tokens       bigint,
      context_window_override bigint,
      dimensions              bigint,
      supports_vision         boolean,
      is_free                 boolean,
      is_hidden               boolean NOT NULL,
      supported_input_types   json NOT NULL,
      upstream_headers        json NOT NULL,
      extra                   json NOT NULL,
      created_at              text COLLATE "C" NOT NULL,
      updated_at              text COLLATE "C" NOT NULL,
      PRIMARY KEY (provider, model_id)
    )`

  yield* sql`
    CREATE TABLE documents (
      kind  text COLLATE "C" NOT NULL,
      key   text COLLATE "C" NOT NULL,
      value json NOT NULL,
      PRIMARY KEY (kind, key)
    )`
})
