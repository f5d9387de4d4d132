/** Sync tokens in Postgres. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { SyncToken } from "#src/features/sync/ports/SyncToken.ts"
import { SyncTokenStore } from "#src/features/sync/ports/SyncTokenStore.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import * as Table from "#src/platform/postgres/Table.ts"

const table = Table.make("SyncTokenStore", SyncToken)

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("SyncTokenStore", options)
  const columns = sql.literal(table.columns)

  return SyncTokenStore.of({
    findByHash: (tokenHash) => run("findByHash", Effect.flatMap(
      sql<object>`SELECT ${columns} FROM sync_tokens WHERE token_hash = ${tokenHash}`,
      ([row]) => row === undefined ? Effect.succeed(null) : table.fromRow(row)
    )),
    list: run("list", Effect.flatMap(sql<object>`SELECT ${columns} FROM sync_tokens ORDER BY created_at DESC, id DESC`, Effect.forEach(table.fromRow))),
    insert: (token) => run("insert", Effect.asVoid(sql`INSERT INTO sync_tokens ${sql.insert(table.toRow(token))}`)),
    touch: (id, lastUsedAt) => run("touch", Effect.asVoid(sql`
      UPDATE sync_tokens SET last_used_at = ${lastUsedAt}
      WHERE id = ${id} AND revoked_at IS NULL AND (last_used_at IS NULL OR last_used_at < ${lastUsedAt})`)),
    revoke: (id, revokedAt) => run("revoke", Effect.gen(function*() {
      const revoked = yield* sql`UPDATE sync_tokens SET revoked_at = ${revokedAt}, updated_at = ${revokedAt} WHERE id = ${id} AND revoked_at IS NULL RETURNING id`
      if (revoked.length > 0) return "revoked"
      return (yield* sql`SELECT id FROM sync_tokens WHERE id = ${id}`).length > 0 ? "before" : "none"
    })),
    trimRevoked: (most) => run("trimRevoked", Effect.map(
      sql`
        DELETE FROM sync_tokens WHERE id IN (
          SELECT id FROM sync_tokens WHERE revoked_at IS NOT NULL ORDER BY revoked_at DESC, id DESC OFFSET ${most}::bigint
        ) RETURNING id`,
      (rows) => rows.length
    ))
  })
})

/** On the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<SyncTokenStore, never, SqlClient.SqlClient> =>
  Layer.effect(SyncTokenStore, make(options))
