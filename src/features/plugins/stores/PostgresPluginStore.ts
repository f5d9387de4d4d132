/** Records of plugins in Postgres. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import * as Operation from "#src/platform/postgres/operation.ts"
import * as Table from "#src/platform/postgres/Table.ts"
import { stored } from "#src/platform/postgres/text.ts"
import { Plugin } from "#src/features/plugins/ports/Plugin.ts"
import { PluginStore } from "#src/features/plugins/ports/PluginStore.ts"

const table = Table.make("PluginStore", Plugin, { json: ["manifest", "config"], nameOf: (row) => String(Reflect.get(row, "name")) })

type Row = Record<string, unknown>

const rowOf = (plugin: Plugin): Row =>
  table.toRow({ ...plugin, code: stored(plugin.code), errorMessage: plugin.errorMessage === null ? null : stored(plugin.errorMessage) })

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("PluginStore", options)
  const columns = sql.literal(table.columns)
  return PluginStore.of({
    list: run("list", Effect.flatMap(sql<Row>`SELECT ${columns} FROM plugins ORDER BY name`, Effect.forEach(table.fromRow))),
    get: (name) => run("get", Effect.flatMap(
      sql<Row>`SELECT ${columns} FROM plugins WHERE name = ${stored(name)}`,
      ([row]) => row === undefined ? Effect.succeed(null) : table.fromRow(row)
    )),
    insert: (plugin) => run("insert", Effect.asVoid(Effect.suspend(() => sql`INSERT INTO plugins ${sql.insert(rowOf(plugin))}`))),
    replace: (plugin) => run("replace", Effect.map(
      Effect.suspend(() => sql`UPDATE plugins SET ${sql.update(rowOf(plugin), ["name"])} WHERE name = ${plugin.name} RETURNING name`),
      (rows) => rows.length > 0
    )),
    remove: (name) => run("remove", Effect.map(sql`DELETE FROM plugins WHERE name = ${stored(name)} RETURNING name`, (rows) => rows.length > 0))
  })
})

/** On the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<PluginStore, never, SqlClient.SqlClient> => Layer.effect(PluginStore, make(options))
