/** A gateway that offers the tools of MCP servers by the official SDK, and clients of its own MCP server. */
import * as path from "node:path"
import { type McpLab, overStream, startMcp } from "#test/features/mcp/lab.ts"
import type { Options } from "#test/support/gateway.ts"
import { eventually } from "#test/support/operator.ts"
import { startToolServer, type ToolServer } from "#test/support/toolServer.ts"

export interface State {
  readonly status: string
  readonly since: string | null
  readonly reason: string | null
  readonly error: string | null
  readonly failures: number
  readonly nextTryAt: string | null
  readonly protocolVersion: string | null
  readonly server: { readonly name: string; readonly version: string } | null
  readonly tools: number
}

export interface View {
  readonly id: string
  readonly name: string
  readonly state: State
  readonly headers: Record<string, string> | null
  readonly env: Record<string, string> | null
  readonly url: string | null
}

export const program = path.resolve(import.meta.dirname, "../../support/toolServer.mjs")

export interface ServersLab extends McpLab {
  readonly tools: ToolServer
  readonly add: (fields: Record<string, unknown>) => Promise<View>
  readonly view: (id: string) => Promise<View>
  /** Waits until it stands so. */
  readonly stands: (id: string, status: string) => Promise<View>
  readonly keyWith: (policy: Record<string, unknown>) => Promise<string>
  readonly client: (key: string) => ReturnType<typeof overStream>
  readonly audit: (query: string) => Promise<ReadonlyArray<{ readonly toolName: string; readonly inputHash: string; readonly outputSummary: string | null; readonly success: boolean; readonly errorCode: string | null; readonly apiKeyId: string | null }>>
}

export const startServers = async (options: Options = {}, expects?: string): Promise<ServersLab> => {
  const lab = await startMcp("streamable-http", { ...options, environment: { GATEWAY_MCP_STDIO_SERVERS: "on", ...options.environment } })
  const tools = await startToolServer(expects === undefined ? {} : { expects })
  const { operator } = lab.gateway
  const view = async (id: string) => (await operator.call<{ server: View }>("GET", `/api/mcp/servers/${id}`)).server
  return {
    ...lab, tools, view,
    add: async (fields) => (await operator.call<{ server: View }>("POST", "/api/mcp/servers", fields)).server,
    stands: (id, status) => eventually(() => view(id), ({ state }) => state.status === status, `${status} of a server`),
    keyWith: async (policy) => (await operator.createKey("tools", { scopes: ["mcp:connect"], ...policy })).key,
    client: (key) => overStream(lab.gateway.url, key),
    audit: async (query) => (await operator.call<{ entries: ReadonlyArray<never> }>("GET", `/api/mcp/audit${query}`)).entries,
    close: async () => {
      await lab.close()
      await tools.close()
    }
  }
}
