import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import type * as Schema from "effect/Schema"
import { answer } from "#src/management/answer.ts"
import * as Surface from "#src/management/Surface.ts"
import * as Addresses from "./addresses.ts"
import { McpServersGroup, type McpServerView } from "./api.ts"
import { addressIn, iso, ManagedMcpServers } from "./ManagedMcpServers.ts"
import { McpServers, type Standing } from "./McpServers.ts"
import type { McpServer } from "./ports/McpServer.ts"
import { McpServerStore } from "./ports/McpServerStore.ts"

const stateOf = (standing: Standing | null): McpServerView["state"] => {
  const tools = standing?.tools.length ?? 0
  const blank = { since: null, reason: null, error: null, failures: 0, nextTryAt: null, protocolVersion: null, server: null, tools }
  const health = standing?.health
  switch (health?.status) {
    case undefined:
      return { ...blank, status: "connecting" }
    case "off":
      return { ...blank, status: "off", reason: health.why }
    case "connecting":
      return { ...blank, status: "connecting", since: iso(health.sinceMs) }
    case "connected":
      return { ...blank, status: "connected", since: iso(health.sinceMs), protocolVersion: health.protocolVersion, server: health.server }
    case "failing":
      return {
        ...blank, status: "failing", since: iso(health.sinceMs), reason: health.problem.reason, error: health.problem.message, failures: health.failures,
        nextTryAt: iso(health.nextTryMs)
      }
  }
}

const toolsOf = (standing: Standing | null) => ({
  tools: (standing?.tools ?? []).map(({ described, name, original }) => ({
    name, tool: original, description: typeof described["description"] === "string" ? described["description"] : null,
    inputSchema: described["inputSchema"] as Schema.JsonObject
  })),
  leftOut: [...standing?.leftOut ?? []]
})

export const layer = HttpApiBuilder.group(Surface.make(McpServersGroup), "mcpServers", Effect.fn(function*(handlers) {
  const managed = yield* ManagedMcpServers
  const servers = yield* McpServers
  const store = yield* McpServerStore

  const viewOf = (server: McpServer): McpServerView => {
    const { address: _, createdAt, updatedAt, ...facts } = server
    return { ...facts, ...Addresses.viewOf(addressIn(server)), state: stateOf(servers.find(server.id)), createdAt, updatedAt }
  }
  const shown = (server: McpServer) => ({ server: viewOf(server) })

  return handlers.handleAll({
    list: () => answer(Effect.map(store.list, (all) => ({ servers: all.map(viewOf) }))),
    create: ({ payload }) => answer(Effect.map(managed.create(payload), shown)),
    get: ({ params }) => answer(Effect.map(managed.get(params.id), shown)),
    update: ({ params, payload }) => answer(Effect.map(managed.change(params.id, payload), shown)),
    remove: ({ params }) => answer(Effect.as(managed.remove(params.id), { success: true as const })),
    refresh: ({ params }) => answer(Effect.map(managed.refresh(params.id), shown)),
    tools: ({ params }) => answer(Effect.map(managed.get(params.id), ({ id }) => toolsOf(servers.find(id))))
  })
}))
