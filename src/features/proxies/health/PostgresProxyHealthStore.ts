/** Sums of tunnels in Postgres. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import * as Operation from "#src/platform/postgres/operation.ts"
import { stored } from "#src/platform/postgres/text.ts"
import { type ProxyCount, ProxyHealthStore } from "./ProxyHealthStore.ts"

interface Row {
  readonly proxyId: string
  readonly made: number | string
  readonly failed: number | string
  readonly latencyMs: number
  readonly lastError: string | null
}

const countOf = ({ failed, lastError, latencyMs, made, proxyId }: Row): ProxyCount =>
  ({ proxyId, made: Number(made), failed: Number(failed), latencyMs, lastError })

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("ProxyHealthStore", options)

  return ProxyHealthStore.of({
    add: (hour, counts) => run("add", sql.withTransaction(Effect.forEach(counts, ({ failed, lastError, latencyMs, made, proxyId }) => sql`
      INSERT INTO proxy_health AS sums (proxy_id, hour, made, failed, latency_ms, last_error)
      SELECT id, ${hour}::bigint, ${made}::bigint, ${failed}::bigint, ${latencyMs}::double precision, ${lastError === null ? null : stored(lastError)}::text
        FROM proxies WHERE id = ${stored(proxyId)}
      ON CONFLICT (proxy_id, hour) DO UPDATE SET made = sums.made + excluded.made, failed = sums.failed + excluded.failed,
        latency_ms = sums.latency_ms + excluded.latency_ms, last_error = coalesce(excluded.last_error, sums.last_error)`, { discard: true }))),
    since: (hour) => run("since", Effect.map(
      sql<Row>`
        SELECT proxy_id AS "proxyId", sum(made)::bigint AS made, sum(failed)::bigint AS failed, sum(latency_ms) AS "latencyMs",
          (array_agg(last_error ORDER BY hour DESC) FILTER (WHERE last_error IS NOT NULL))[1] AS "lastError"
        FROM proxy_health WHERE hour >= ${hour}::bigint GROUP BY proxy_id ORDER BY proxy_id`,
      (rows) => rows.map(countOf)
    )),
    removeBefore: (hour) => run("removeBefore", Effect.map(sql`DELETE FROM proxy_health WHERE hour < ${hour}::bigint RETURNING 1`, (rows) => rows.length))
  })
})

/** On the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}) => Layer.effect(ProxyHealthStore, make(options))
