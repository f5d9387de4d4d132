/** Webhooks, the queue of their events, and what became of the deliveries. Times are ISO 8601 text, claims ms of the database's clock. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE webhooks (
      id                text COLLATE "C" CONSTRAINT webhooks_id_key PRIMARY KEY,
      url               text NOT NULL,
      events            json NOT NULL,
      secret            text NOT NULL,
      enabled           boolean NOT NULL,
      description       text,
      kind              text NOT NULL,
      metadata          text,
      failure_count     bigint NOT NULL,
      last_triggered_at text COLLATE "C",
      last_status       bigint,
      created_at        text COLLATE "C" NOT NULL,
      updated_at        text COLLATE "C" NOT NULL
    )`

  // An event outlives its jobs for a while, so that a second copy of it is known as one.
  yield* sql`
    CREATE TABLE webhook_events (
      id         text COLLATE "C" CONSTRAINT webhook_events_id_key PRIMARY KEY,
      type       text NOT NULL,
      body       text NOT NULL,
      created_at text COLLATE "C" NOT NULL
    )`
  yield* sql`CREATE INDEX webhook_events_age ON webhook_events (created_at)`

  yield* sql`
    CREATE TABLE webhook_jobs (
      seq           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      webhook_id    text COLLATE "C" NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
      event_id      text COLLATE "C" NOT NULL REFERENCES webhook_events (id) ON DELETE CASCADE,
      claimed_by    text COLLATE "C",
      claimed_until bigint NOT NULL DEFAULT 0
    )`
  yield* sql`CREATE INDEX webhook_jobs_order ON webhook_jobs (webhook_id, seq)`
  yield* sql`CREATE INDEX webhook_jobs_event ON webhook_jobs (event_id)`

  yield* sql`
    CREATE TABLE webhook_deliveries (
      seq              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      id               text COLLATE "C" NOT NULL,
      webhook_id       text COLLATE "C" NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
      event_type       text NOT NULL,
      status           text NOT NULL,
      http_status      bigint,
      latency_ms       double precision NOT NULL,
      error            text,
      payload_snapshot text,
      created_at       text COLLATE "C" NOT NULL
    )`
  yield* sql`CREATE INDEX webhook_deliveries_order ON webhook_deliveries (webhook_id, seq DESC)`
  yield* sql`CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_at)`
})
