/** Tasks of cloud agents in Postgres. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import * as Operation from "#src/platform/postgres/operation.ts"
import * as Table from "#src/platform/postgres/Table.ts"
import { CloudTask } from "./ports/CloudTask.ts"
import { CloudTaskStore } from "./ports/CloudTaskStore.ts"

const table = Table.make("CloudTaskStore", CloudTask, { json: ["source", "options", "result", "activities"] })

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("CloudTaskStore", options)
  const columns = sql.literal(table.columns)

  return CloudTaskStore.of({
    list: ({ limit, providerId, status }) => run("list", Effect.flatMap(
      sql<object>`
        SELECT ${columns} FROM cloud_tasks
        WHERE ${providerId === undefined ? sql`true` : sql`provider_id = ${providerId}`} AND ${status === undefined ? sql`true` : sql`status = ${status}`}
        ORDER BY created_at DESC, id DESC LIMIT ${limit}`,
      Effect.forEach(table.fromRow)
    )),
    get: (id) => run("get", Effect.flatMap(
      sql<object>`SELECT ${columns} FROM cloud_tasks WHERE id = ${id}`,
      ([row]) => row === undefined ? Effect.succeed(null) : table.fromRow(row)
    )),
    insert: (task) => run("insert", Effect.asVoid(sql`INSERT INTO cloud_tasks ${sql.insert(table.toRow(task))}`)),
    replace: (task, updatedAt) => run("replace", Effect.map(
      sql`UPDATE cloud_tasks SET ${sql.update(table.toRow(task), ["id"])} WHERE id = ${task.id} AND updated_at = ${updatedAt} RETURNING id`,
      (rows) => rows.length > 0
    )),
    remove: (id) => run("remove", Effect.map(sql`DELETE FROM cloud_tasks WHERE id = ${id} RETURNING id`, (rows) => rows.length > 0)),
    trim: (most) => run("trim", Effect.map(
      sql`
        DELETE FROM cloud_tasks WHERE id IN (
          SELECT id FROM cloud_tasks WHERE completed_at IS NOT NULL ORDER BY created_at, id
          LIMIT greatest(0, (SELECT count(*) FROM cloud_tasks) - ${most}::bigint)
        ) RETURNING id`,
      (rows) => rows.length
    ))
  })
})

/** On the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<CloudTaskStore, never, SqlClient.SqlClient> =>
  Layer.effect(CloudTaskStore, make(options))
