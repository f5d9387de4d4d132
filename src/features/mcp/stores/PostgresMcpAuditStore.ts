/** Calls of tools in Postgres. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { McpAuditStore, McpCall } from "#src/features/mcp/ports/McpAuditStore.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import * as Table from "#src/platform/postgres/Table.ts"
import { stored } from "#src/platform/postgres/text.ts"

const table = Table.make("McpAuditStore", McpCall)
/** Tools in the statistics. */
const TOP = 10

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("McpAuditStore", options)
  return McpAuditStore.of({
    append: (call) => run("append", Effect.asVoid(Effect.suspend(() => sql`INSERT INTO mcp_calls ${sql.insert(table.toRow({
      ...call, toolName: stored(call.toolName), outputSummary: call.outputSummary === null ? null : stored(call.outputSummary)
    }))}`))),
    list: ({ apiKeyId, limit, offset, success, tool }) => run("list", Effect.gen(function*() {
      const wanted = sql.and([
        sql`true`,
        ...(tool === undefined ? [] : [sql`tool_name = ${stored(tool)}`]),
        ...(success === undefined ? [] : [sql`success = ${success}`]),
        ...(apiKeyId === undefined ? [] : [sql`api_key_id = ${stored(apiKeyId)}`])
      ])
      const rows = yield* sql`SELECT ${sql.literal(table.columns)} FROM mcp_calls WHERE ${wanted} ORDER BY seq DESC LIMIT ${limit}::bigint OFFSET ${offset}::bigint`
      const [count] = yield* sql<{ readonly total: number }>`SELECT count(*) AS total FROM mcp_calls WHERE ${wanted}`
      return { entries: yield* Effect.forEach(rows, table.fromRow), total: Number(count?.total ?? 0) }
    })),
    stats: (since) => run("stats", Effect.gen(function*() {
      const [sums] = yield* sql<{ readonly calls: number; readonly successes: number; readonly ms: number | null }>`
        SELECT count(*) AS calls, count(*) FILTER (WHERE success) AS successes, avg(duration_ms) AS ms FROM mcp_calls WHERE created_at >= ${since}`
      const top = yield* sql<{ readonly tool: string; readonly count: number }>`
        SELECT tool_name AS tool, count(*) AS count FROM mcp_calls WHERE created_at >= ${since}
        GROUP BY tool_name ORDER BY count(*) DESC, tool_name LIMIT ${TOP}`
      const [last] = yield* sql<{ readonly tool: string; readonly at: string }>`
        SELECT tool_name AS tool, created_at AS at FROM mcp_calls ORDER BY seq DESC LIMIT 1`
      const calls = Number(sums?.calls ?? 0)
      return {
        totalCalls: calls, successRate: calls === 0 ? 0 : Number(sums?.successes ?? 0) / calls, avgDurationMs: Number(sums?.ms ?? 0),
        topTools: top.map(({ count, tool }) => ({ tool, count: Number(count) })), lastCallAt: last?.at ?? null, lastCallTool: last?.tool ?? null
      }
    })),
    prune: (before) => run("prune", Effect.asVoid(sql`DELETE FROM mcp_calls WHERE created_at < ${before}`))
  })
})

/** On the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<McpAuditStore, never, SqlClient.SqlClient> =>
  Layer.effect(McpAuditStore, make(options))
