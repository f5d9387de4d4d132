/** Other MCP servers, whose tools the gateway offers. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import * as Scopes from "#src/management/inner/scopes.ts"
import * as Acting from "./acting.ts"
import { McpServersGroup } from "./api.ts"
import { degradation } from "./degradation.ts"
import * as Http from "./http.ts"
import * as ManagedMcpServers from "./ManagedMcpServers.ts"
import * as McpServers from "./McpServers.ts"
import { McpServersOptions } from "./McpServersOptions.ts"
import version30 from "./migrations/0030_mcpServers.ts"
import * as PostgresMcpServerStore from "./PostgresMcpServerStore.ts"
import * as RunServerTools from "./RunServerTools.ts"

export const mcpServers = Feature.make({
  name: "mcpServers",
  groups: [McpServersGroup],
  handlers: Layer.provide(Http.layer, ManagedMcpServers.layer),
  stores: PostgresMcpServerStore.layer,
  migrations: { "30_mcpServers": version30 },
  acting: [Acting.mcpServer],
  degradation,
  services: (settings) => {
    const startsPrograms = settings.mcpStdioServers
    const { granted, words } = Scopes
    return RunServerTools.layer({
      fallback: granted(words(settings.mcpScopes)), allow: words(settings.mcpToolAllow), deny: words(settings.mcpToolDeny)
    }).pipe(
      Layer.provideMerge(McpServers.layer({ startsPrograms })),
      Layer.merge(Layer.succeed(McpServersOptions, { startsPrograms }))
    )
  }
})
