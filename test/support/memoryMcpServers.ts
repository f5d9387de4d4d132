/** Records of MCP servers in memory, and what stands on them. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { StoreError } from "#actors/ports/StoreError.ts"
import type { McpServer } from "#src/features/mcpServers/ports/McpServer.ts"
import * as McpServers from "#src/features/mcpServers/McpServers.ts"
import { McpServersOptions } from "#src/features/mcpServers/McpServersOptions.ts"
import { McpServerStore } from "#src/features/mcpServers/ports/McpServerStore.ts"
import * as RunServerTools from "#src/features/mcpServers/RunServerTools.ts"

export const storeLayer = Layer.sync(McpServerStore, () => {
  const rows = new Map<string, McpServer>()
  const isTaken = ({ id, name }: McpServer): boolean => [...rows.values()].some((other) => other.id !== id && other.name === name)
  const taken = (operation: string, field: string) => new StoreError({ store: "McpServerStore", operation, reason: "conflict", message: `McpServerStore.${operation}: ${field} is taken.` })
  return McpServerStore.of({
    list: Effect.sync(() => [...rows.values()].sort((a, b) => a.name < b.name ? -1 : 1)),
    get: (id) => Effect.sync(() => rows.get(id) ?? null),
    insert: (server) => Effect.suspend(() => {
      if (rows.has(server.id)) return Effect.fail(taken("insert", "id"))
      if (isTaken(server)) return Effect.fail(taken("insert", "name"))
      rows.set(server.id, server)
      return Effect.void
    }),
    replace: (server) => Effect.suspend(() => {
      if (!rows.has(server.id)) return Effect.succeed(false)
      if (isTaken(server)) return Effect.fail(taken("replace", "name"))
      rows.set(server.id, server)
      return Effect.succeed(true)
    }),
    remove: (id) => Effect.sync(() => rows.delete(id))
  })
})

export const surface = RunServerTools.layer({ fallback: [], allow: [], deny: [] }).pipe(
  Layer.provideMerge(McpServers.layer({ startsPrograms: false })),
  Layer.provideMerge(storeLayer),
  Layer.merge(Layer.succeed(McpServersOptions, { startsPrograms: false }))
)
