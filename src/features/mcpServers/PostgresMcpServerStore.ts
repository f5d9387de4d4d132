/** Records of MCP servers in Postgres. The address is sealed, bound to its row. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { SealBroken, Secrets } from "#actors/ports/Secrets.ts"
import { McpServer } from "./ports/McpServer.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import { mcpServerContext } from "#src/platform/postgres/Reseal.ts"
import * as Table from "#src/platform/postgres/Table.ts"
import { McpServerStore } from "./ports/McpServerStore.ts"

const table = Table.make("McpServerStore", McpServer, { json: ["allowedTools", "blockedTools", "scopes"] })

type Row = Record<string, unknown>

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const secrets = yield* Secrets
  const run = Operation.make("McpServerStore", options)
  const columns = sql.literal(table.columns)

  const sealed = (server: McpServer): Row => ({ ...table.toRow(server), address: secrets.seal(server.address, mcpServerContext(server.id)) })
  const read = (row: Row) => Effect.flatMap(
    Effect.try({
      try: () => ({ ...row, address: secrets.openUnsafe(String(row["address"]), mcpServerContext(String(row["id"]))) }),
      catch: (error) => error instanceof SealBroken ? error : new SealBroken({ keyId: "", message: `The address of MCP server ${String(row["id"])} cannot be read.` })
    }),
    table.fromRow
  )

  return McpServerStore.of({
    list: run("list", Effect.flatMap(sql<Row>`SELECT ${columns} FROM mcp_servers ORDER BY name`, Effect.forEach(read))),
    get: (id) => run("get", Effect.flatMap(sql<Row>`SELECT ${columns} FROM mcp_servers WHERE id = ${id}`, ([row]) => row === undefined ? Effect.succeed(null) : read(row))),
    insert: (server) => run("insert", Effect.asVoid(Effect.suspend(() => sql`INSERT INTO mcp_servers ${sql.insert(sealed(server))}`))),
    replace: (server) => run("replace", Effect.map(
      Effect.suspend(() => sql`UPDATE mcp_servers SET ${sql.update(sealed(server), ["id"])} WHERE id = ${server.id} RETURNING id`),
      (rows) => rows.length > 0
    )),
    remove: (id) => run("remove", Effect.map(sql`DELETE FROM mcp_servers WHERE id = ${id} RETURNING id`, (rows) => rows.length > 0))
  })
})

/** On the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<McpServerStore, never, SqlClient.SqlClient | Secrets> =>
  Layer.effect(McpServerStore, make(options))
