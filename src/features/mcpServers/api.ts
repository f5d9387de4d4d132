import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { SentBack, sentBack } from "#schemas/api/SentBack.ts"
import { clearable, Document, integer, listOf, Success, text } from "#schemas/api/fields.ts"
import { McpServerAccess, McpTransport } from "./ports/McpServer.ts"
import { serverName } from "./toolNames.ts"

const nullable = <S extends Schema.Top>(schema: S) => Schema.NullOr(schema)
const words = (name: number, value: number) => Schema.Record(text(1, name), Schema.String.check(Schema.isMaxLength(value)))
const patterns = listOf(text(1, 256), 500)
const opt = Schema.optionalKey

/** A server's prefix: a lower-case letter, then letters, digits and `-`, 32 characters at most. */
const name = Schema.String.check(Schema.isPattern(serverName, { message: "Expected a lower-case letter, then letters, digits and '-', 32 characters at most" }))

const common = {
  description: clearable(text(0, 1_000)),
  url: opt(text(1, 2_000)),
  headers: opt(words(200, 8_000)),
  command: opt(text(1, 1_000)),
  args: opt(listOf(text(0, 4_000), 100)),
  env: opt(words(200, 8_000)),
  enabled: opt(Schema.Boolean),
  access: opt(McpServerAccess),
  allowedTools: opt(patterns),
  blockedTools: opt(patterns),
  scopes: opt(listOf(text(1, 64), 32)),
  timeoutMs: opt(integer(1_000, 600_000))
}

export const NewMcpServer = Schema.Struct({ name, transport: opt(McpTransport), ...common })
export type NewMcpServer = typeof NewMcpServer.Type
export const McpServerChange = Schema.Struct({ name: opt(name), ...common })
export type McpServerChange = typeof McpServerChange.Type

/** How the server stands on the node that answers. */
const McpServerState = Schema.Struct({
  status: Schema.Literals(["off", "connecting", "connected", "failing"]),
  /** ISO 8601; null while it is off. */
  since: nullable(Schema.String),
  /** Why it is off, or what went wrong; null otherwise. */
  reason: nullable(Schema.String),
  error: nullable(Schema.String),
  /** Failures in a row. */
  failures: Schema.Int,
  nextTryAt: nullable(Schema.String),
  protocolVersion: nullable(Schema.String),
  server: nullable(Schema.Struct({ name: Schema.String, version: Schema.String })),
  tools: Schema.Int
})

export const McpServerView = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  description: nullable(Schema.String),
  transport: McpTransport,
  /** Without the values of its query. */
  url: nullable(Schema.String),
  /** Values read `[redacted]`. */
  headers: nullable(Schema.Record(Schema.String, Schema.String)),
  command: nullable(Schema.String),
  args: nullable(Schema.Array(Schema.String)),
  /** Values read `[redacted]`. */
  env: nullable(Schema.Record(Schema.String, Schema.String)),
  enabled: Schema.Boolean,
  access: McpServerAccess,
  allowedTools: Schema.Array(Schema.String),
  blockedTools: Schema.Array(Schema.String),
  scopes: Schema.Array(Schema.String),
  timeoutMs: Schema.Int,
  state: McpServerState,
  createdAt: Schema.String,
  updatedAt: Schema.String
}).annotate({ identifier: "McpServer" })
export type McpServerView = typeof McpServerView.Type

const OfferedTool = Schema.Struct({
  /** As clients call it. */
  name: Schema.String,
  /** As its server calls it. */
  tool: Schema.String,
  description: nullable(Schema.String),
  inputSchema: Document
})

const params = { id: Schema.String }
const One = Schema.Struct({ server: McpServerView })

/** MCP servers whose tools the gateway offers. */
export const McpServersGroup = HttpApiGroup.make("mcpServers").add(
  HttpApiEndpoint.get("list", "/api/mcp/servers", { success: Schema.Struct({ servers: Schema.Array(McpServerView) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "MCP servers and how they stand on this node, their credentials masked"),
  HttpApiEndpoint.post("create", "/api/mcp/servers", { payload: NewMcpServer, success: One.pipe(HttpApiSchema.status(201)) })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Add an MCP server; its tools are offered under its name"),
  HttpApiEndpoint.get("get", "/api/mcp/servers/:id", { params, success: One })
    .annotate(Access, reads).annotate(OpenApi.Summary, "One MCP server"),
  HttpApiEndpoint.patch("update", "/api/mcp/servers/:id", { params, payload: McpServerChange, success: One })
    .annotate(SentBack, sentBack({ moves: ["state"] })).annotate(Access, writes).annotate(OpenApi.Summary, "Change an MCP server; a value [redacted] keeps what is stored"),
  HttpApiEndpoint.delete("remove", "/api/mcp/servers/:id", { params, success: Success })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Remove an MCP server and end its session or program"),
  HttpApiEndpoint.post("refresh", "/api/mcp/servers/:id/refresh", { params, success: One })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Connect now, or read the tools again, and say how that went"),
  HttpApiEndpoint.get("tools", "/api/mcp/servers/:id/tools", {
    params,
    success: Schema.Struct({ tools: Schema.Array(OfferedTool), leftOut: Schema.Array(Schema.Struct({ tool: Schema.String, why: Schema.String })) })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "The tools of one server, and those that are not offered, and why")
).annotateMerge(OpenApi.annotations({ title: "MCP servers", description: "Other MCP servers, whose tools the gateway offers beside its own." }))
