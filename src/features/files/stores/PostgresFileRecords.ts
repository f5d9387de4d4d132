/** Records of files in Postgres. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import * as Operation from "#src/platform/postgres/operation.ts"
import { stored } from "#src/platform/postgres/text.ts"
import { type FileRecord, FileRecords, type FileScope } from "#src/features/files/ports/FileRecords.ts"

type Row = Omit<FileRecord, "bytes" | "createdAt" | "expiresAt"> & { readonly bytes: unknown; readonly createdAt: unknown; readonly expiresAt: unknown }

const columns = `id, owner_key_id AS "ownerKeyId", filename, purpose, content_type AS "contentType", bytes, sha256, status, status_details AS "statusDetails",
  created_at AS "createdAt", expires_at AS "expiresAt"`

const recordOf = (row: Row): FileRecord =>
  ({ ...row, bytes: Number(row.bytes), createdAt: Number(row.createdAt), expiresAt: row.expiresAt === null ? null : Number(row.expiresAt) })

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("FileRecords", options)
  const inScope = (scope: FileScope) => scope === "all" ? sql`TRUE` : sql`owner_key_id = ${scope.keyId}`
  const one = (id: string, scope: FileScope) => Effect.map(
    sql<Row>`SELECT ${sql.literal(columns)} FROM files WHERE id = ${stored(id)} AND ${inScope(scope)}`,
    ([row]) => row === undefined ? null : recordOf(row)
  )

  return FileRecords.of({
    insert: (record) => run("insert", Effect.asVoid(sql`
      INSERT INTO files ${sql.insert({
        id: record.id, owner_key_id: record.ownerKeyId, filename: stored(record.filename), purpose: stored(record.purpose), content_type: stored(record.contentType),
        bytes: record.bytes, sha256: record.sha256, status: record.status, status_details: record.statusDetails === null ? null : stored(record.statusDetails),
        created_at: record.createdAt, expires_at: record.expiresAt
      })}`)),
    find: (id, scope) => run("find", one(id, scope)),
    list: ({ after, limit, order, purpose, scope }) => run("list", Effect.gen(function*() {
      const first = after === null ? null : yield* one(after, scope)
      if (after !== null && first === null) return null
      const behind = first === null ? sql`TRUE` : order === "asc" ? sql`(created_at, id) > (${first.createdAt}, ${first.id})` : sql`(created_at, id) < (${first.createdAt}, ${first.id})`
      const way = sql.literal(order === "asc" ? "ASC" : "DESC")
      const rows = yield* sql<Row>`
        SELECT ${sql.literal(columns)} FROM files WHERE ${inScope(scope)} AND ${purpose === null ? sql`TRUE` : sql`purpose = ${stored(purpose)}`} AND ${behind}
        ORDER BY created_at ${way}, id ${way} LIMIT ${limit + 1}`
      return { records: rows.slice(0, limit).map(recordOf), hasMore: rows.length > limit }
    })),
    setStatus: (id, status, details) => run("setStatus", Effect.map(
      sql`UPDATE files SET status = ${status}, status_details = ${details === null ? null : stored(details)} WHERE id = ${stored(id)} AND status <> 'expired' RETURNING id`,
      (rows) => rows.length > 0
    )),
    remove: (id, scope) => run("remove", Effect.map(sql`DELETE FROM files WHERE id = ${stored(id)} AND ${inScope(scope)} RETURNING id`, (rows) => rows.length > 0)),
    known: (ids) => ids.length === 0 ? Effect.succeed(new Set()) : run("known", Effect.map(
      sql<{ readonly id: string }>`SELECT id FROM files WHERE ${sql.in("id", [...ids])} AND status <> 'expired'`,
      (rows) => new Set(rows.map(({ id }) => id))
    )),
    expire: (now, limit) => run("expire", Effect.map(
      sql<{ readonly id: string }>`
        UPDATE files SET status = 'expired' WHERE id IN (SELECT id FROM files WHERE expires_at <= ${now} AND status <> 'expired' ORDER BY expires_at LIMIT ${limit}) RETURNING id`,
      (rows) => rows.map(({ id }) => id)
    )),
    removeExpiredBefore: (time) => Operation.removeAll(run("removeExpiredBefore", sql`
      DELETE FROM files WHERE id IN (SELECT id FROM files WHERE status = 'expired' AND expires_at < ${time} LIMIT ${Operation.REMOVED_AT_ONCE})
      RETURNING 1`))
  })
})

export const layer = (options: Operation.StoreOptions) => Layer.effect(FileRecords, make(options))
