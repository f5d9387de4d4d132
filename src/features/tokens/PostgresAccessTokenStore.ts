/** Access tokens of remote command lines in Postgres, by hash. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { AccessTokenStore } from "#actors/ports/Stores.ts"
import { AccessToken } from "#schemas/records/Session.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import * as Table from "#src/platform/postgres/Table.ts"

const table = Table.make("AccessTokenStore", AccessToken)

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("AccessTokenStore", options)
  const columns = sql.literal(table.columns)
  return AccessTokenStore.of({
    findByHash: (tokenHash) =>
      run("findByHash", Effect.flatMap(
        sql`SELECT ${columns} FROM access_tokens WHERE token_hash = ${tokenHash}`,
        ([row]) => row === undefined ? Effect.succeed(null) : table.fromRow(row)
      )),
    list: run("list", Effect.flatMap(
      sql`SELECT ${columns} FROM access_tokens ORDER BY created_at DESC, id DESC`,
      Effect.forEach(table.fromRow)
    )),
    insert: (token) => run("insert", Effect.asVoid(sql`INSERT INTO access_tokens ${sql.insert(table.toRow(token))}`)),
    touch: (id, lastUsedAt) =>
      run("touch", Effect.asVoid(sql`
        UPDATE access_tokens SET last_used_at = ${lastUsedAt}
        WHERE id = ${id} AND (last_used_at IS NULL OR last_used_at < ${lastUsedAt})`)),
    removeByPassword: (kept) =>
      run("removeByPassword", Effect.map(
        sql`DELETE FROM access_tokens WHERE by_password AND id IS DISTINCT FROM ${kept} RETURNING id`,
        (rows) => rows.length
      )),
    remove: (id) => run("remove", Effect.map(sql`DELETE FROM access_tokens WHERE id = ${id} RETURNING id`, (rows) => rows.length > 0))
  })
})

/** `AccessTokenStore` on the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<AccessTokenStore, never, SqlClient.SqlClient> =>
  Layer.effect(AccessTokenStore, make(options))
