/** Provider nodes in Postgres; the prefix is unique. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { NodeStore } from "#actors/ports/Stores.ts"
import { ProviderNode } from "#schemas/records/ProviderNode.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import * as Table from "#src/platform/postgres/Table.ts"

const table = Table.make("NodeStore", ProviderNode, { json: ["customHeaders"] })

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("NodeStore", options)
  const columns = sql.literal(table.columns)
  return NodeStore.of({
    list: run("list", Effect.flatMap(
      sql`SELECT ${columns} FROM provider_nodes ORDER BY created_at, id`,
      Effect.forEach(table.fromRow)
    )),
    insert: (node) => run("insert", Effect.asVoid(sql`INSERT INTO provider_nodes ${sql.insert(table.toRow(node))}`)),
    replace: (node) =>
      run("replace", Effect.map(
        sql`UPDATE provider_nodes SET ${sql.update(table.toRow(node), ["id"])} WHERE id = ${node.id} RETURNING id`,
        (rows) => rows.length > 0
      )),
    remove: (id) =>
      run("remove", Effect.map(sql`DELETE FROM provider_nodes WHERE id = ${id} RETURNING id`, (rows) => rows.length > 0))
  })
})

/** `NodeStore` on the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<NodeStore, never, SqlClient.SqlClient> =>
  Layer.effect(NodeStore, make(options))
