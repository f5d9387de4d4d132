/** Combos in Postgres; the name is unique. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { ComboStore } from "#actors/ports/Stores.ts"
import { Combo } from "#schemas/records/Combo.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import * as Table from "#src/platform/postgres/Table.ts"

const table = Table.make("ComboStore", Combo, { json: ["models", "config", "allowedProviders"] })

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("ComboStore", options)
  const columns = sql.literal(table.columns)
  return ComboStore.of({
    list: run("list", Effect.flatMap(
      sql`SELECT ${columns} FROM combos ORDER BY sort_order, name, id`,
      Effect.forEach(table.fromRow)
    )),
    insert: (combo) => run("insert", Effect.asVoid(sql`INSERT INTO combos ${sql.insert(table.toRow(combo))}`)),
    replace: (combo) =>
      run("replace", Effect.map(
        sql`UPDATE combos SET ${sql.update(table.toRow(combo), ["id"])} WHERE id = ${combo.id} RETURNING id`,
        (rows) => rows.length > 0
      )),
    // One statement, so that no reader sees half of a new order.
    reorder: (ids) =>
      run("reorder", Effect.map(
        sql`
          UPDATE combos SET sort_order = places.place - 1
          FROM json_array_elements_text(${JSON.stringify(ids)}::text::json) WITH ORDINALITY AS places (id, place)
          WHERE combos.id = places.id RETURNING combos.id`,
        (rows) => rows.length
      )),
    remove: (id) => run("remove", Effect.map(sql`DELETE FROM combos WHERE id = ${id} RETURNING id`, (rows) => rows.length > 0))
  })
})

/** `ComboStore` on the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<ComboStore, never, SqlClient.SqlClient> =>
  Layer.effect(ComboStore, make(options))
