/** Sums of searches in Postgres; costs are kept as whole units of 1e-10 USD, so that sums are exact. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import * as Cost from "#src/platform/accounting/cost.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import { type SearchSums, SearchStatisticsStore, type Sums, type Whose } from "./SearchStatisticsStore.ts"

type Row = Readonly<Record<string, unknown>>

/** Rows of one removal: more than all nodes add between two. */
const removeSlice = 20_000
/** Rows of one answer: far more than there are providers with connections. */
const mostRows = 10_000

const sums = "sum(requests) AS requests, sum(attempts) AS attempts, sum(cached) AS cached, sum(errors) AS errors, sum(cost) AS cost, sum(duration) AS duration"

const sumsOf = (row: Row): Sums => ({
  requests: Number(row["requests"]), attempts: Number(row["attempts"]), cached: Number(row["cached"]), errors: Number(row["errors"]),
  costUsd: Cost.fromUnits(Number(row["cost"])), durationMs: Number(row["duration"])
})

/** A column of a key cannot be null. */
const absent = ""
const idOf = (value: unknown): string | null => value === absent ? null : String(value)

const toRow = ({ attempts, cached, connectionId, costUsd, durationMs, errors, hour, keyId, provider, requests }: SearchSums) => ({
  key_id: keyId ?? absent, provider, connection_id: connectionId ?? absent, hour, requests, attempts, cached, errors, cost: Cost.toUnits(costUsd), duration: Math.round(durationMs)
})

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("SearchStatisticsStore", options)
  const of = (whose: Whose): Fragment => whose === "all" ? sql`TRUE` : sql`key_id = ${whose.keyId ?? absent}`
  return SearchStatisticsStore.of({
    // An answer that did not come says nothing of what was stored: the batch's id does.
    add: ({ at, id, rows }) => rows.length === 0 ? Effect.void : run("add", Effect.asVoid(sql`
      WITH fresh AS (INSERT INTO search_batches (id, at) VALUES (${id}, ${Math.floor(at)}) ON CONFLICT DO NOTHING RETURNING id)
      INSERT INTO search_hours (key_id, provider, connection_id, hour, requests, attempts, cached, errors, cost, duration)
      SELECT key_id, provider, connection_id, hour, requests, attempts, cached, errors, cost, duration
      FROM jsonb_to_recordset(${JSON.stringify(rows.map(toRow))}::text::jsonb) AS given
        (key_id text, provider text, connection_id text, hour bigint, requests bigint, attempts bigint, cached bigint, errors bigint, cost bigint, duration bigint)
      WHERE EXISTS (SELECT 1 FROM fresh)
      ON CONFLICT (key_id, provider, connection_id, hour) DO UPDATE SET
        requests = search_hours.requests + excluded.requests, attempts = search_hours.attempts + excluded.attempts, cached = search_hours.cached + excluded.cached,
        errors = search_hours.errors + excluded.errors, cost = search_hours.cost + excluded.cost, duration = search_hours.duration + excluded.duration`)),
    byProvider: (whose) => run("byProvider", Effect.map(
      sql<Row>`SELECT provider, connection_id, ${sql.literal(sums)} FROM search_hours WHERE ${of(whose)} GROUP BY provider, connection_id ORDER BY provider, connection_id LIMIT ${mostRows}`,
      (rows) => rows.map((row) => ({ provider: String(row["provider"]), connectionId: idOf(row["connection_id"]), ...sumsOf(row) }))
    )),
    byHour: (whose, since) => run("byHour", Effect.map(
      sql<Row>`SELECT hour, ${sql.literal(sums)} FROM search_hours WHERE ${sql.and([of(whose), sql`hour >= ${Math.ceil(since)}`])} GROUP BY hour ORDER BY hour LIMIT ${mostRows}`,
      (rows) => rows.map((row) => ({ hour: Number(row["hour"]), ...sumsOf(row) }))
    )),
    removeBefore: (hour, batch) => run("removeBefore", Effect.gen(function*() {
      yield* sql`DELETE FROM search_batches WHERE id IN (SELECT id FROM search_batches WHERE at < ${Math.floor(batch)} LIMIT ${removeSlice})`
      const rows = yield* sql`DELETE FROM search_hours WHERE ctid IN (SELECT ctid FROM search_hours WHERE hour < ${Math.floor(hour)} LIMIT ${removeSlice}) RETURNING 1`
      return rows.length
    }))
  })
})

export const layer = (options: Operation.StoreOptions = {}) => Layer.effect(SearchStatisticsStore, make(options))
