/** Stored responses in Postgres. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import * as Operation from "#src/platform/postgres/operation.ts"
import { stored } from "#src/platform/postgres/text.ts"
import { ResponseStore, type StoredResponse } from "./ResponseStore.ts"

type Row = Omit<StoredResponse, "createdAt" | "expiresAt" | "updatedAt"> & { readonly createdAt: unknown; readonly expiresAt: unknown; readonly updatedAt: unknown }

const columns = `id, key_id AS "keyId", created_at AS "createdAt", expires_at AS "expiresAt", updated_at AS "updatedAt", status, input, response`

/** Rows deleted per statement, so that a sweep never holds its locks for long. */
const removeSlice = 1_000

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("ResponseStore", options)
  return ResponseStore.of({
    put: (one) => run("put", Effect.asVoid(sql`
      INSERT INTO responses ${sql.insert({
        id: one.id, key_id: one.keyId, created_at: one.createdAt, expires_at: one.expiresAt, updated_at: one.updatedAt, status: one.status,
        input: stored(one.input), response: stored(one.response)
      })}
      ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at, status = excluded.status, input = excluded.input, response = excluded.response
        WHERE responses.status <> 'cancelled' AND responses.key_id IS NOT DISTINCT FROM excluded.key_id`)),
    find: (id, now) => run("find", Effect.map(
      sql<Row>`SELECT ${sql.literal(columns)} FROM responses WHERE id = ${id} AND expires_at > ${now}`,
      ([row]) => row === undefined ? null : { ...row, createdAt: Number(row.createdAt), expiresAt: Number(row.expiresAt), updatedAt: Number(row.updatedAt) }
    )),
    remove: (id) => run("remove", Effect.asVoid(sql`DELETE FROM responses WHERE id = ${id}`)),
    cancel: (id, response, now) => run("cancel", Effect.map(
      sql`UPDATE responses SET status = 'cancelled', response = ${stored(response)}, updated_at = ${now} WHERE id = ${id} AND status IN ('queued', 'in_progress') RETURNING id`,
      (rows) => rows.length > 0
    )),
    touch: (ids, now) => ids.length === 0 ? Effect.succeed([]) : run("touch", Effect.map(
      sql<{ readonly id: string; readonly status: string }>`UPDATE responses SET updated_at = ${now} WHERE ${sql.in("id", [...ids])} RETURNING id, status`,
      (rows) => rows.filter(({ status }) => status === "cancelled").map(({ id }) => id)
    )),
    removeExpired: (now) => run("removeExpired", Effect.map(
      sql`DELETE FROM responses WHERE id IN (SELECT id FROM responses WHERE expires_at <= ${now} LIMIT ${removeSlice}) RETURNING id`,
      (rows) => rows.length
    ))
  })
})

export const layer = (options: Operation.StoreOptions) => Layer.effect(ResponseStore, make(options))
