/** Stored responses in Postgres. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import * as Operation from "#src/platform/postgres/operation.ts"
import { stored } from "#src/platform/postgres/text.ts"
import { type BackgroundResponse, ResponseStore, type StoredResponse } from "./ResponseStore.ts"

type Unread<R> = Omit<R, "createdAt" | "expiresAt" | "updatedAt"> & { readonly createdAt: unknown; readonly expiresAt: unknown; readonly updatedAt: unknown }

const columns = `id, key_id AS "keyId", created_at AS "createdAt", expires_at AS "expiresAt", updated_at AS "updatedAt", status, input, response, run`

const read = <R extends StoredResponse>(row: Unread<R>): R =>
  ({ ...row, createdAt: Number(row.createdAt), expiresAt: Number(row.expiresAt), updatedAt: Number(row.updatedAt) }) as unknown as R

const running = "status IN ('queued', 'in_progress')"

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("ResponseStore", options)
  const isRunning = sql.literal(running)
  const row = (one: StoredResponse) => ({
    id: one.id, key_id: one.keyId, created_at: one.createdAt, expires_at: one.expiresAt, updated_at: one.updatedAt, status: one.status,
    input: stored(one.input), response: stored(one.response), run: one.run
  })
  return ResponseStore.of({
    put: (one) => run("put", Effect.asVoid(sql`
      INSERT INTO responses ${sql.insert(row(one))}
      ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at, status = excluded.status, input = excluded.input, response = excluded.response
        WHERE responses.status <> 'cancelled' AND responses.key_id IS NOT DISTINCT FROM excluded.key_id`)),
    begin: (one) => run("begin", Effect.asVoid(sql`INSERT INTO responses ${sql.insert({ ...row(one), request: one.request === null ? null : stored(one.request) })}`)),
    finish: (one) => run("finish", Effect.map(
      sql`UPDATE responses SET status = ${one.status}, response = ${stored(one.response)}, updated_at = ${one.updatedAt}, request = NULL
        WHERE id = ${one.id} AND run = ${one.run} AND ${isRunning} RETURNING id`,
      (rows) => rows.length > 0
    )),
    find: (id, now) => run("find", Effect.map(
      sql<Unread<StoredResponse>>`SELECT ${sql.literal(columns)} FROM responses WHERE id = ${id} AND expires_at > ${now}`,
      ([found]) => found === undefined ? null : read(found)
    )),
    remove: (id) => run("remove", Effect.asVoid(sql`DELETE FROM responses WHERE id = ${id}`)),
    cancel: (id, response, now) => run("cancel", Effect.map(
      sql`UPDATE responses SET status = 'cancelled', response = ${stored(response)}, updated_at = ${now}, request = NULL WHERE id = ${id} AND ${isRunning} RETURNING id`,
      (rows) => rows.length > 0
    )),
    touch: (runs, now) => runs.length === 0 ? Effect.succeed([]) : run("touch", Effect.map(
      sql<{ readonly id: string; readonly run: number }>`UPDATE responses SET updated_at = ${now}
        WHERE ${sql.in("id", runs.map(({ id }) => id))} AND ${isRunning} RETURNING id, run`,
      (rows) => {
        const newest = new Map(rows.map(({ id, run }) => [id, run]))
        return runs.filter(({ id, run }) => newest.get(id) !== run).map(({ id }) => id)
      }
    )),
    takeOver: ({ limit, now, silentSince }) => run("takeOver", Effect.map(
      sql<Unread<BackgroundResponse>>`UPDATE responses SET updated_at = ${now}, run = run + 1 WHERE id IN (
          SELECT id FROM responses WHERE ${isRunning} AND updated_at < ${silentSince} ORDER BY updated_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
        ) RETURNING ${sql.literal(columns)}, request`,
      (rows) => rows.map(read)
    )),
    leave: (one) => run("leave", Effect.asVoid(sql`UPDATE responses SET updated_at = 0 WHERE id = ${one.id} AND run = ${one.run} AND ${isRunning}`)),
    removeExpired: (now) => Operation.removeAll(run("removeExpired", sql`
      DELETE FROM responses WHERE id IN (SELECT id FROM responses WHERE expires_at <= ${now} LIMIT ${Operation.REMOVED_AT_ONCE}) RETURNING 1`))
  })
})

export const layer = (options: Operation.StoreOptions) => Layer.effect(ResponseStore, make(options))
