/** Quota snapshots in Postgres: appended, read by time, removed by age. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { QuotaStore } from "#src/features/quotas/ports/QuotaStore.ts"
import { QuotaSnapshot } from "#schemas/records/QuotaSnapshot.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import * as Table from "#src/platform/postgres/Table.ts"

const table = Table.make("QuotaStore", QuotaSnapshot, { json: ["rawData"], nameOf: (row) => String(Reflect.get(row, "connectionId")) })

/** Rows of one answer, and of one statement of an insert or a removal. */
const maxRows = 10_000
const insertRows = 500

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("QuotaStore", options)
  const columns = sql.literal(table.columns)
  return QuotaStore.of({
    insert: (rows) => run("insert", Effect.forEach(
      Arr.chunksOf(rows, insertRows),
      (slice) => sql`INSERT INTO quota_snapshots ${sql.insert(Arr.map(slice, table.toRow))}`,
      { discard: true }
    )),
    latest: (now, since) => run("latest", Effect.flatMap(
      sql`SELECT ${columns} FROM (
          SELECT DISTINCT ON (connection_id, model, window_key) * FROM quota_snapshots WHERE created_at >= ${Math.ceil(since)}
          ORDER BY connection_id, model, window_key, created_at DESC, seq DESC
        ) AS newest
        WHERE next_reset_at > ${Math.floor(now)}
          OR (next_reset_at IS NULL AND created_at + (raw_data->>'believedMs')::bigint > ${Math.floor(now)}) LIMIT ${maxRows}`,
      (rows) => Effect.forEach(rows, table.fromRow)
    )),
    history: ({ connectionId, limit = maxRows, since }) => run("history", Effect.flatMap(
      sql`SELECT ${columns} FROM quota_snapshots
        WHERE ${sql.and([sql`created_at >= ${Math.ceil(since)}`, ...(connectionId === undefined ? [] : [sql`connection_id = ${connectionId}`])])}
        ORDER BY created_at DESC, seq DESC LIMIT ${Math.min(limit, maxRows)}`,
      (rows) => Effect.forEach(rows, table.fromRow)
    )),
    removeBefore: (time) => Operation.removeAll(run("removeBefore", sql`
      DELETE FROM quota_snapshots WHERE seq IN
        (SELECT seq FROM quota_snapshots WHERE created_at < ${Math.ceil(time)} LIMIT ${Operation.REMOVED_AT_ONCE})
      RETURNING 1`)),
    removeHistory: Operation.removeAll(run("removeHistory", sql`
      DELETE FROM quota_snapshots WHERE seq IN (
        SELECT seq FROM quota_snapshots AS old WHERE EXISTS (
          SELECT 1 FROM quota_snapshots AS newer
          WHERE newer.connection_id = old.connection_id AND newer.model IS NOT DISTINCT FROM old.model AND newer.window_key = old.window_key
            AND (newer.created_at, newer.seq) > (old.created_at, old.seq)
        ) LIMIT ${Operation.REMOVED_AT_ONCE}
      ) RETURNING 1`))
  })
})

/** `QuotaStore` on the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<QuotaStore, never, SqlClient.SqlClient> =>
  Layer.effect(QuotaStore, make(options))
