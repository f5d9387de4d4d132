/** What the operator of this node allows for other MCP servers. */
import * as Context from "effect/Context"

export class McpServersOptions extends Context.Service<McpServersOptions, {
  /** GATEWAY_MCP_STDIO_SERVERS: this node may start the programs of servers over stdio. */
  readonly startsPrograms: boolean
}>()("gateway/mcpServers/McpServersOptions") {}
