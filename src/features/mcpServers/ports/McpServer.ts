import * as Schema from "effect/Schema"

/** How the gateway reaches a server. */
export const McpTransport = Schema.Literals(["http", "stdio"])
export type McpTransport = typeof McpTransport.Type

/** `keys`: only keys that name its tools; `open`: every key. */
export const McpServerAccess = Schema.Literals(["keys", "open"])

const list = Schema.Array(Schema.String)

/** An MCP server whose tools the gateway offers under its own. */
export const McpServer = Schema.Struct({
  id: Schema.String,
  /** Prefix of its tools: lower-case letters, digits and `-`. */
  name: Schema.String,
  description: Schema.NullOr(Schema.String),
  transport: McpTransport,
  /** JSON of an `McpAddress`: it may hold credentials. */
  address: Schema.Redacted(Schema.String),
  enabled: Schema.Boolean,
  access: McpServerAccess,
  /** Patterns of its own tools' names; empty = all. */
  allowedTools: list,
  /** The same for what is never offered; it wins. */
  blockedTools: list,
  /** Scopes that a caller needs beside its own list of tools. */
  scopes: list,
  /** For one call of a tool, ms. */
  timeoutMs: Schema.Int,
  createdAt: Schema.String,
  updatedAt: Schema.String
})
export interface McpServer extends Schema.Schema.Type<typeof McpServer> {}

const words = Schema.Record(Schema.String, Schema.String)

export const HttpAddress = Schema.Struct({ url: Schema.String, headers: words })
export type HttpAddress = typeof HttpAddress.Type
export const StdioAddress = Schema.Struct({ command: Schema.String, args: list, env: words })
export type StdioAddress = typeof StdioAddress.Type
export const McpAddress = Schema.Union([HttpAddress, StdioAddress])
export type McpAddress = typeof McpAddress.Type
