/** `DatabaseTables` over Postgres. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import * as Operation from "#src/platform/postgres/operation.ts"
import { Patience } from "#src/platform/postgres/Slot.ts"
import { tableNames } from "#src/features/backups/ports/tableNames.ts"
import { DatabaseTables } from "./DatabaseTables.ts"

/** Longest time that one table may take, ms. */
const TABLE_MS = 600_000

interface Table {
  readonly name: string
  readonly rows: number
  readonly deadRows: number
  readonly bytes: number
}

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("DatabaseTables", options)
  const long = Operation.make("DatabaseTables", { ...options, timeout: TABLE_MS })

  /** The gateway's own tables of those that exist. */
  const tables = sql<Table>`
    SELECT c.relname AS name, greatest(c.reltuples, 0)::bigint AS rows, coalesce(s.n_dead_tup, 0)::bigint AS "deadRows", pg_total_relation_size(c.oid) AS bytes
    FROM pg_class AS c LEFT JOIN pg_stat_user_tables AS s ON s.relid = c.oid
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname IN (SELECT json_array_elements_text(${JSON.stringify(tableNames)}::text::json)) ORDER BY c.relname`

  /** On one connection, because neither may run in a transaction, and the server would end a long one. */
  const eachTable = (operation: string, command: string) => Effect.gen(function*() {
    const all = yield* run(operation, tables)
    yield* Effect.scoped(Effect.gen(function*() {
      const connection = yield* run(operation, sql.reserve)
      const send = (statement: string) => connection.executeUnprepared(statement, [], undefined)
      yield* run(operation, send(`SET statement_timeout = ${TABLE_MS}`))
      yield* Effect.addFinalizer(() => Effect.ignore(send("RESET statement_timeout")))
      yield* Effect.forEach(all, ({ name }) => long(operation, send(`${command} "${name}"`)), { discard: true })
    }))
  }).pipe(Effect.provideService(Patience, TABLE_MS))

  return DatabaseTables.of({
    sizes: run("sizes", Effect.zipWith(
      sql<{ readonly bytes: number }>`SELECT pg_database_size(current_database()) AS bytes`, tables,
      ([database], found) => ({ sizeBytes: database?.bytes ?? 0, tables: found })
    )),
    analyze: eachTable("analyze", "ANALYZE"),
    vacuum: eachTable("vacuum", "VACUUM")
  })
})

export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<DatabaseTables, never, SqlClient.SqlClient> => Layer.effect(DatabaseTables, make(options))
