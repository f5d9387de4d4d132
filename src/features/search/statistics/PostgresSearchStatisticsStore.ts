/** Sums of searches in Postgres; costs are kept as whole units of 1e-10 USD, so that sums are exact. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import * as Cost from "#src/platform/accounting/cost.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import { type HourSums, SearchStatisticsStore, type Sums, type Whose } from "./SearchStatisticsStore.ts"

type Row = Readonly<Record<string, unknown>>

/** Rows of one statement. */
const insertRows = 500
const removeSlice = 5_000
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

const toRow = ({ attempts, cached, connectionId, costUsd, durationMs, errors, hour, keyId, provider, requests }: HourSums) => ({
  key_id: keyId ?? absent, provider, connection_id: connectionId ?? absent, hour, requests, attempts, cached, errors, cost: Cost.toUnits(costUsd), duration: Math.round(durationMs)
})

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("SearchStatisticsStore", options)
  const of = (whose: Whose): Fragment => whose === "all" ? sql`TRUE` : sql`key_id = ${whose.keyId ?? absent}`
  return SearchStatisticsStore.of({
    add: (rows) => run("add", Effect.forEach(Arr.chunksOf(rows, insertRows), (slice) => sql`
      INSERT INTO search_hours ${sql.insert(Arr.map(slice, toRow))}
      ON CONFLICT (key_id, provider, connection_id, hour) DO UPDATE SET
        requests = search_hours.requests + excluded.requests, attempts = search_hours.attempts + excluded.attempts, cached = search_hours.cached + excluded.cached,
        errors = search_hours.errors + excluded.errors, cost = search_hours.cost + excluded.cost, duration = search_hours.duration + excluded.duration`, { discard: true })),
    byProvider: (whose) => run("byProvider", Effect.map(
      sql<Row>`SELECT provider, connection_id, ${sql.literal(sums)} FROM search_hours WHERE ${of(whose)} GROUP BY provider, connection_id ORDER BY provider, connection_id LIMIT ${mostRows}`,
      (rows) => rows.map((row) => ({ provider: String(row["provider"]), connectionId: idOf(row["connection_id"]), ...sumsOf(row) }))
    )),
    byHour: (whose, since) => run("byHour", Effect.map(
      sql<Row>`SELECT hour, ${sql.literal(sums)} FROM search_hours WHERE ${sql.and([of(whose), sql`hour >= ${Math.ceil(since)}`])} GROUP BY hour ORDER BY hour LIMIT ${mostRows}`,
      (rows) => rows.map((row) => ({ hour: Number(row["hour"]), ...sumsOf(row) }))
    )),
    removeBefore: (hour) => run("removeBefore", Effect.map(
      sql`DELETE FROM search_hours WHERE ctid IN (SELECT ctid FROM search_hours WHERE hour < ${Math.floor(hour)} LIMIT ${removeSlice}) RETURNING 1`, (rows) => rows.length))
  })
})

export const layer = (options: Operation.StoreOptions = {}) => Layer.effect(SearchStatisticsStore, make(options))
