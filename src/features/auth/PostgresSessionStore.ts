/** Dashboard sessions in Postgres; the row outlives its revocation until it expires. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { SessionStore } from "#actors/ports/Stores.ts"
import { Session } from "#schemas/records/Session.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import * as Table from "#src/platform/postgres/Table.ts"

const table = Table.make("SessionStore", Session)

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("SessionStore", options)
  const columns = sql.literal(table.columns)
  return SessionStore.of({
    insert: (session) => run("insert", Effect.asVoid(sql`INSERT INTO sessions ${sql.insert(table.toRow(session))}`)),
    get: (id) =>
      run("get", Effect.flatMap(
        sql`SELECT ${columns} FROM sessions WHERE id = ${id}`,
        ([row]) => row === undefined ? Effect.succeed(null) : table.fromRow(row)
      )),
    // Two extensions may arrive out of order: a session's end never moves back.
    extend: (id, expiresAt) =>
      run("extend", Effect.asVoid(sql`
        UPDATE sessions SET expires_at = greatest(expires_at, ${expiresAt}) WHERE id = ${id} AND revoked_at IS NULL`)),
    revoke: (id, revokedAt) =>
      run("revoke", Effect.map(
        sql`UPDATE sessions SET revoked_at = ${revokedAt} WHERE id = ${id} AND revoked_at IS NULL RETURNING id`,
        (rows) => rows.length > 0
      )),
    revokeOthers: (kept, revokedAt) =>
      run("revokeOthers", Effect.map(
        sql`UPDATE sessions SET revoked_at = ${revokedAt} WHERE revoked_at IS NULL AND expires_at > ${revokedAt} AND id IS DISTINCT FROM ${kept} RETURNING id`,
        (rows) => rows.length
      )),
    removeExpired: (now) =>
      run("removeExpired", Effect.map(sql`DELETE FROM sessions WHERE expires_at <= ${now} RETURNING id`, (rows) => rows.length))
  })
})

/** `SessionStore` on the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<SessionStore, never, SqlClient.SqlClient> =>
  Layer.effect(SessionStore, make(options))
