/** Which fields of MCP servers act. */
import { actIn, type Row } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"
import type { NewMcpServer } from "./api.ts"

const rows: Readonly<Record<keyof NewMcpServer, Row>> = {
  ...actIn("src/features/mcpServers/catalog.ts", "name", "allowedTools", "blockedTools"),
  ...actIn("src/features/mcpServers/ManagedMcpServers.ts", "description", "transport"),
  ...actIn("src/features/mcpServers/client/HttpTransport.ts", "url", "headers"),
  ...actIn("src/features/mcpServers/client/StdioTransport.ts", "command", "args", "env"),
  ...actIn("src/features/mcpServers/McpServers.ts", "enabled", "timeoutMs"),
  ...actIn("src/features/mcpServers/toolRights.ts", "access", "scopes")
}

export const mcpServer = ActingTable.make("MCP server", rows, "POST /api/mcp/servers", "PATCH /api/mcp/servers/:id")
