/** Lists of outbound proxies that are read again and again; the URL is sealed. A proxy names the list that it came from. */
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"

export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE TABLE proxy_subscriptions (
      id               text COLLATE "C" CONSTRAINT proxy_subscriptions_id_key PRIMARY KEY,
      name             text NOT NULL,
      url              text NOT NULL,
      type             text NOT NULL,
      enabled          boolean NOT NULL,
      interval_seconds bigint NOT NULL,
      entry_count      bigint NOT NULL,
      skipped_count    bigint NOT NULL,
      tried_at         text COLLATE "C",
      refreshed_at     text COLLATE "C",
      error            text,
      created_at       text COLLATE "C" NOT NULL,
      updated_at       text COLLATE "C" NOT NULL
    )`
  yield* sql`ALTER TABLE proxies ADD COLUMN subscription_id text COLLATE "C"`
  yield* sql`ALTER TABLE proxies ADD COLUMN left_at text COLLATE "C"`
})
