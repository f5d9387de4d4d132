/** What the MCP server stands on, without a database. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { McpOptions } from "#src/features/mcp/McpOptions.ts"
import { type McpCall, McpAuditStore } from "#src/features/mcp/ports/McpAuditStore.ts"
import * as MemoryMcpSessions from "#src/features/mcp/stores/MemoryMcpSessions.ts"

const audit = Layer.sync(McpAuditStore, () => {
  let calls: ReadonlyArray<McpCall> = []
  return {
    append: (call) => Effect.sync(() => {
      calls = [call, ...calls]
    }),
    list: ({ apiKeyId, limit, offset, success, tool }) => Effect.sync(() => {
      const found = calls.filter((call) =>
        (tool === undefined || call.toolName === tool) && (success === undefined || call.success === success) && (apiKeyId === undefined || call.apiKeyId === apiKeyId))
      return { entries: found.slice(offset, offset + limit), total: found.length }
    }),
    stats: (since) => Effect.sync(() => {
      const recent = calls.filter(({ createdAt }) => createdAt >= since)
      const counts = Map.groupBy(recent, ({ toolName }) => toolName)
      return {
        totalCalls: recent.length, successRate: recent.length === 0 ? 0 : recent.filter(({ success }) => success).length / recent.length,
        avgDurationMs: recent.length === 0 ? 0 : recent.reduce((sum, { durationMs }) => sum + durationMs, 0) / recent.length,
        topTools: Array.from(counts, ([tool, { length }]) => ({ tool, count: length })).sort((a, b) => b.count - a.count || (a.tool < b.tool ? -1 : 1)).slice(0, 10),
        lastCallAt: calls[0]?.createdAt ?? null, lastCallTool: calls[0]?.toolName ?? null
      }
    }),
    prune: (before) => Effect.sync(() => {
      calls = calls.filter(({ createdAt }) => createdAt >= before)
    })
  }
})

export const surface = Layer.mergeAll(audit, MemoryMcpSessions.layer, Layer.succeed(McpOptions, { allow: [], deny: [], scopes: [] }))
