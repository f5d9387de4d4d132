/** Sums of compression in Postgres. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import * as Operation from "#src/platform/postgres/operation.ts"
import { CompressionStatisticsStore, type CompressionSums } from "./CompressionStatisticsStore.ts"

type Row = Readonly<Record<string, unknown>>

/** Rows of one removal: more than all nodes add between two. */
const removeSlice = 20_000
/** Rows of one answer: far more than modes, engines and combos make. */
const mostRows = 10_000

/** A column of a key cannot be null. */
const absent = ""
const idOf = (value: unknown): string | null => value === absent ? null : String(value)

const toRow = ({ after, before, comboId, engine, fallbacks, hour, mode, requests }: CompressionSums) => ({
  mode, combo_id: comboId ?? absent, engine: engine ?? absent, hour, requests, before, after, fallbacks
})

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("CompressionStatisticsStore", options)
  return CompressionStatisticsStore.of({
    // An answer that did not come says nothing of what was stored: the batch's id does.
    add: ({ at, id, rows }) => rows.length === 0 ? Effect.void : run("add", Effect.asVoid(sql`
      WITH fresh AS (INSERT INTO compression_batches (id, at) VALUES (${id}, ${Math.floor(at)}) ON CONFLICT DO NOTHING RETURNING id)
      INSERT INTO compression_hours (mode, combo_id, engine, hour, requests, before, after, fallbacks)
      SELECT mode, combo_id, engine, hour, requests, before, after, fallbacks
      FROM jsonb_to_recordset(${JSON.stringify(rows.map(toRow))}::text::jsonb) AS given
        (mode text, combo_id text, engine text, hour bigint, requests bigint, before bigint, after bigint, fallbacks bigint)
      WHERE EXISTS (SELECT 1 FROM fresh)
      ON CONFLICT (mode, combo_id, engine, hour) DO UPDATE SET
        requests = compression_hours.requests + excluded.requests, before = compression_hours.before + excluded.before,
        after = compression_hours.after + excluded.after, fallbacks = compression_hours.fallbacks + excluded.fallbacks`)),
    since: (hour) => run("since", Effect.map(
      sql<Row>`SELECT mode, combo_id, engine, sum(requests) AS requests, sum(before) AS before, sum(after) AS after, sum(fallbacks) AS fallbacks
        FROM compression_hours WHERE hour >= ${Math.ceil(hour)} GROUP BY mode, combo_id, engine ORDER BY mode, combo_id, engine LIMIT ${mostRows}`,
      (rows) => rows.map((row) => ({
        mode: String(row["mode"]), comboId: idOf(row["combo_id"]), engine: idOf(row["engine"]), requests: Number(row["requests"]), before: Number(row["before"]),
        after: Number(row["after"]), fallbacks: Number(row["fallbacks"])
      }))
    )),
    removeBefore: (hour, batch) => run("removeBefore", Effect.gen(function*() {
      yield* sql`DELETE FROM compression_batches WHERE id IN (SELECT id FROM compression_batches WHERE at < ${Math.floor(batch)} LIMIT ${removeSlice})`
      const rows = yield* sql`DELETE FROM compression_hours WHERE ctid IN (SELECT ctid FROM compression_hours WHERE hour < ${Math.floor(hour)} LIMIT ${removeSlice}) RETURNING 1`
      return rows.length
    }))
  })
})

export const layer = (options: Operation.StoreOptions = {}) => Layer.effect(CompressionStatisticsStore, make(options))
