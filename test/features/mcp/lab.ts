/** A gateway whose tools are served over one transport, and official clients of it. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import * as Http from "#test/support/http.ts"
import { inProcess, type InProcess, type Options } from "#test/support/gateway.ts"
import { CREDENTIAL } from "#test/support/lab.ts"
import { startSim, type Sim } from "#test/support/sim.ts"

export interface McpLab {
  readonly gateway: InProcess
  readonly sim: Sim
  readonly close: () => Promise<void>
}

/** With a combo `best` over the simulator. */
export const startMcp = async (transport: "stdio" | "sse" | "streamable-http", options: Options = {}): Promise<McpLab> => {
  const sim = await startSim({ models: { "*": {} } })
  const gateway = await inProcess(options)
  const lab = await gateway.operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
  await gateway.operator.createConnection({ provider: lab, apiKey: CREDENTIAL })
  await gateway.operator.call("POST", "/api/combos", { name: "best", models: ["lab/one", "lab/two"], strategy: "priority" })
  await gateway.operator.call("PATCH", "/api/settings", { mcpEnabled: true, mcpTransport: transport })
  return {
    gateway, sim,
    close: async () => {
      await gateway.close()
      await sim.stop()
    }
  }
}

type Transport = Parameters<Client["connect"]>[0]

export const overStream = async (url: string, key: string) => {
  const client = new Client({ name: "a test", version: "1" })
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/api/mcp/stream`), { requestInit: { headers: { authorization: `Bearer ${key}` } } })
  await client.connect(transport as Transport)
  return { client, transport }
}

export const overSse = async (url: string, key: string): Promise<Client> => {
  const client = new Client({ name: "a test", version: "1" })
  const headers = { authorization: `Bearer ${key}` }
  await client.connect(new SSEClientTransport(new URL(`${url}/api/mcp/sse`), {
    requestInit: { headers }, eventSourceInit: { fetch: (to, init) => fetch(to, { ...init, headers: { ...(init.headers as Record<string, string>), ...headers } } as RequestInit) }
  }))
  return client
}

export const textOf = (result: unknown): string => (result as { readonly content: ReadonlyArray<{ readonly text: string }> }).content[0]?.text ?? ""

/** A row of the audit of tools. */
export interface Audited {
  readonly success: boolean
  readonly errorCode: string | null
  readonly outputSummary: string | null
  readonly apiKeyId: string | null
}

/** A client with a key of its own; its scopes beside that of the transport. */
export const agentOf = async (lab: McpLab, ...scopes: ReadonlyArray<string>) => {
  const { id, key } = await lab.gateway.operator.createKey(scopes.join(" "), { scopes: ["mcp:connect", ...scopes] })
  const { client } = await overStream(lab.gateway.url, key)
  return {
    id, key,
    call: async (name: string, args: Record<string, unknown> = {}) =>
      JSON.parse(textOf(await client.callTool({ name: `gateway_${name}`, arguments: args }))) as Record<string, unknown>,
    close: () => client.close()
  }
}

export const frame = (method: string, params?: unknown, id: number | null = 1): unknown =>
  ({ jsonrpc: "2.0", ...(id === null ? {} : { id }), method, ...(params === undefined ? {} : { params }) })

export const opening = (version: string): unknown => frame("initialize", { protocolVersion: version, capabilities: {}, clientInfo: { name: "a test", version: "1" } })

const accept = "application/json, text/event-stream"

/** One frame to /api/mcp/stream. */
export const post = (url: string, key: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Http.Reply> =>
  Http.send(url, { path: "/api/mcp/stream", headers: { accept, authorization: `Bearer ${key}`, ...headers }, body })

/** A session that is open; its header. */
export const session = async (url: string, key: string, version = "2025-06-18"): Promise<Record<string, string>> => {
  const reply = await post(url, key, opening(version))
  const headers = { "mcp-session-id": reply.headers["mcp-session-id"] ?? "", "mcp-protocol-version": version }
  await post(url, key, frame("notifications/initialized", undefined, null), headers)
  return headers
}
