/** Patterns that send model ids to combos, in Postgres, in the order in which they are asked. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { ComboMappingStore } from "#actors/ports/Stores.ts"
import { ComboMapping } from "#schemas/records/Combo.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import * as Table from "#src/platform/postgres/Table.ts"

const table = Table.make("ComboMappingStore", ComboMapping)

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("ComboMappingStore", options)
  const columns = sql.literal(table.columns)
  return ComboMappingStore.of({
    list: run("list", Effect.flatMap(
      sql`SELECT ${columns} FROM combo_mappings ORDER BY priority DESC, created_at, id`,
      Effect.forEach(table.fromRow)
    )),
    insert: (mapping) => run("insert", Effect.asVoid(sql`INSERT INTO combo_mappings ${sql.insert(table.toRow(mapping))}`)),
    replace: (mapping) =>
      run("replace", Effect.map(
        sql`UPDATE combo_mappings SET ${sql.update(table.toRow(mapping), ["id"])} WHERE id = ${mapping.id} RETURNING id`,
        (rows) => rows.length > 0
      )),
    remove: (id) =>
      run("remove", Effect.map(sql`DELETE FROM combo_mappings WHERE id = ${id} RETURNING id`, (rows) => rows.length > 0)),
    removeByCombo: (comboId) =>
      run("removeByCombo", Effect.map(sql`DELETE FROM combo_mappings WHERE combo_id = ${comboId} RETURNING id`, (rows) => rows.length))
  })
})

/** `ComboMappingStore` on the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<ComboMappingStore, never, SqlClient.SqlClient> =>
  Layer.effect(ComboMappingStore, make(options))
