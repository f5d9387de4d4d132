/** The MCP server: the gateway's tools for agents. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import { orShared } from "#src/platform/redis/orShared.ts"
import { McpGroup } from "./api.ts"
import { degradation } from "./degradation.ts"
import * as Http from "./http.ts"
import { McpOptions } from "./McpOptions.ts"
import version16 from "./migrations/0016_mcp.ts"
import { words } from "#src/management/inner/scopes.ts"
import * as MemoryMcpSessions from "./stores/MemoryMcpSessions.ts"
import * as PostgresMcpAuditStore from "./stores/PostgresMcpAuditStore.ts"

export const mcp = Feature.make({
  name: "mcp",
  groups: [McpGroup],
  handlers: Http.layer,
  stores: PostgresMcpAuditStore.layer,
  migrations: { "16_mcp": version16 },
  degradation,
  services: (settings) => Layer.merge(
    orShared(settings, MemoryMcpSessions.layer, async () => (await import("./stores/RedisMcpSessions.ts")).layer),
    Layer.succeed(McpOptions, { allow: words(settings.mcpToolAllow), deny: words(settings.mcpToolDeny), scopes: words(settings.mcpScopes) })
  )
})
