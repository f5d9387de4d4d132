/** Connections in Postgres; the four secret columns hold sealed envelopes bound to the row and the field. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as SqlClient from "effect/sql/SqlClient"
import { SealBroken, Secrets } from "#actors/ports/Secrets.ts"
import { ConnectionStore } from "#actors/ports/Stores.ts"
import { Connection, secretFields } from "#schemas/records/Connection.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import * as Reseal from "#src/platform/postgres/Reseal.ts"
import * as Table from "#src/platform/postgres/Table.ts"

const table = Table.make("ConnectionStore", Connection, {
  json: ["providerSpecificData", "quotaWindowThresholds", "rateLimitOverrides"]
})

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const secrets = yield* Secrets
  const run = Operation.make("ConnectionStore", options)
  const columns = sql.literal(table.columns)
  const reseal = yield* Reseal.make

  const seal = (id: string, field: (typeof secretFields)[number], value: Redacted.Redacted<string> | null): string | null =>
    value === null ? null : secrets.seal(value, Reseal.connectionContext(id, field))

  const sealed = (connection: Connection): Record<string, unknown> => {
    const row = table.toRow(connection)
    for (const field of secretFields) row[Table.columnOf(field)] = seal(connection.id, field, connection[field])
    return row
  }

  const read = (row: Record<string, unknown>) =>
    Effect.flatMap(
      Effect.try({
        try: () => {
          const open: Record<string, Redacted.Redacted<string> | null> = {}
          for (const field of secretFields) {
            const value = row[field]
            open[field] = typeof value === "string" ? secrets.openUnsafe(value, Reseal.connectionContext(String(row["id"]), field)) : null
          }
          return { ...row, ...open }
        },
        catch: (error) => error instanceof SealBroken ? error : new SealBroken({ keyId: "", message: String(error) })
      }),
      table.fromRow
    )

  const count = Effect.map((rows: ReadonlyArray<unknown>) => rows.length)

  return ConnectionStore.of({
    list: run("list", Effect.flatMap(
      sql<Record<string, unknown>>`SELECT ${columns} FROM connections ORDER BY provider, priority, created_at, id`,
      Effect.forEach(read)
    )),
    get: (id) =>
      run("get", Effect.flatMap(
        sql<Record<string, unknown>>`SELECT ${columns} FROM connections WHERE id = ${id}`,
        ([row]) => row === undefined ? Effect.succeed(null) : read(row)
      )),
    insert: (connection) =>
      run("insert", Effect.asVoid(Effect.suspend(() => sql`INSERT INTO connections ${sql.insert(sealed(connection))}`))),
    replace: (connection) =>
      run("replace", Effect.map(
        Effect.suspend(() => sql`UPDATE connections SET ${sql.update(sealed(connection), ["id"])} WHERE id = ${connection.id} RETURNING id`),
        (rows) => rows.length > 0
      )),
    patch: (id, fields) => {
      // A caller without types may still name a secret or the id: they are not patched.
      const row = table.toRow(fields)
      for (const field of ["id", ...secretFields]) delete row[Table.columnOf(field)]
      return run("patch", Effect.map(
        Object.keys(row).length === 0
          ? sql`SELECT id FROM connections WHERE id = ${id}`
          : sql`UPDATE connections SET ${sql.update(row)} WHERE id = ${id} RETURNING id`,
        (rows) => rows.length > 0
      ))
    },
    renew: (id, tokens, fields) => {
      const row = table.toRow(fields)
      for (const field of ["id", ...secretFields]) delete row[Table.columnOf(field)]
      for (const field of ["accessToken", "refreshToken", "idToken"] as const) {
        const value = tokens[field]
        if (value !== undefined) row[Table.columnOf(field)] = seal(id, field, value)
      }
      return run("renew", Effect.map(
        Object.keys(row).length === 0
          ? sql`SELECT id FROM connections WHERE id = ${id}`
          : sql`UPDATE connections SET ${sql.update(row)} WHERE id = ${id} RETURNING id`,
        (rows) => rows.length > 0
      ))
    },
    remove: (id) =>
      run("remove", Effect.map(sql`DELETE FROM connections WHERE id = ${id} RETURNING id`, (rows) => rows.length > 0)),
    removeByProvider: (provider) =>
      run("removeByProvider", count(sql`DELETE FROM connections WHERE provider = ${provider} RETURNING id`)),
    reseal: run("reseal", reseal)
  })
})

/** `ConnectionStore` on the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<ConnectionStore, never, SqlClient.SqlClient | Secrets> =>
  Layer.effect(ConnectionStore, make(options))
