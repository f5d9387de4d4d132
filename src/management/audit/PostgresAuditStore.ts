/** The audit log in Postgres: appended, never changed, and removed when it is old. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { type AuditQuery, AuditStore } from "#actors/ports/Stores.ts"
import { AuditEntry } from "#schemas/records/AuditEntry.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import * as Table from "#src/platform/postgres/Table.ts"

const table = Table.make("AuditStore", AuditEntry, { json: ["details"] })

/** Fields that a query compares for equality. */
const exact = ["action", "actor", "target", "resourceType", "status", "requestId"] as const

/** Entries carry UTC ISO text: a bound in any form that Date reads is brought into the same form. */
const bound = (time: string): string => {
  const ms = Date.parse(time)
  return Number.isNaN(ms) ? time : new Date(ms).toISOString()
}

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("AuditStore", options)
  const columns = sql.literal(table.columns)

  const where = (query: AuditQuery): Fragment => {
    const clauses: Array<Fragment> = []
    for (const field of exact) {
      const value = query[field]
      if (value !== undefined) clauses.push(sql`${sql(Table.columnOf(field))} = ${value}`)
    }
    if (query.from !== undefined) clauses.push(sql`timestamp >= ${bound(query.from)}`)
    if (query.to !== undefined) clauses.push(sql`timestamp <= ${bound(query.to)}`)
    return sql.and(clauses)
  }

  return AuditStore.of({
    append: (entry) => run("append", Effect.asVoid(sql`INSERT INTO audit_log ${sql.insert(table.toRow(entry))}`)),
    query: (query) =>
      run("query", Effect.gen(function*() {
        const rows = yield* sql`
          SELECT ${columns} FROM audit_log WHERE ${where(query)}
          ORDER BY timestamp DESC, seq DESC LIMIT ${query.limit} OFFSET ${query.offset}`
        const counts = yield* sql<{ readonly total: number }>`SELECT count(*) AS total FROM audit_log WHERE ${where(query)}`
        return { entries: yield* Effect.forEach(rows, table.fromRow), total: counts[0]?.total ?? 0 }
      })),
    removeBefore: (time) => Operation.removeAll(run("removeBefore", sql`
      DELETE FROM audit_log WHERE id IN
        (SELECT id FROM audit_log WHERE timestamp < ${new Date(time).toISOString()} LIMIT ${Operation.REMOVED_AT_ONCE})
      RETURNING 1`))
  })
})

/** `AuditStore` on the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<AuditStore, never, SqlClient.SqlClient> =>
  Layer.effect(AuditStore, make(options))
