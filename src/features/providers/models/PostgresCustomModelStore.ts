/** Custom models in Postgres, one row per provider and model id. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { CustomModelStore } from "#actors/ports/Stores.ts"
import { CustomModel } from "#schemas/records/CustomModel.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import * as Table from "#src/platform/postgres/Table.ts"

const table = Table.make("CustomModelStore", CustomModel, {
  json: ["supportedEndpoints", "supportedInputTypes", "upstreamHeaders", "extra"],
  nameOf: (row) => `${Reflect.get(row, "provider")}/${Reflect.get(row, "modelId")}`
})

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("CustomModelStore", options)
  const columns = sql.literal(table.columns)
  return CustomModelStore.of({
    list: run("list", Effect.flatMap(
      sql`SELECT ${columns} FROM custom_models ORDER BY provider, model_id`,
      Effect.forEach(table.fromRow)
    )),
    upsert: (model) => {
      const row = table.toRow(model)
      return run("upsert", Effect.asVoid(sql`
        INSERT INTO custom_models ${sql.insert(row)}
        ON CONFLICT (provider, model_id) DO UPDATE SET ${sql.update(row, ["provider", "model_id"])}`))
    },
    remove: (provider, modelId) =>
      run("remove", Effect.map(
        sql`DELETE FROM custom_models WHERE provider = ${provider} AND model_id = ${modelId} RETURNING model_id`,
        (rows) => rows.length > 0
      )),
    removeAll: (provider) =>
      run("removeAll", Effect.map(sql`DELETE FROM custom_models WHERE provider = ${provider} RETURNING model_id`, (rows) => rows.length))
  })
})

/** `CustomModelStore` on the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<CustomModelStore, never, SqlClient.SqlClient> =>
  Layer.effect(CustomModelStore, make(options))
