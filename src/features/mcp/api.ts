import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, anyone, loopback, loopbackOrKey } from "#schemas/api/Access.ts"
import { McpCall } from "./ports/McpAuditStore.ts"

const nullable = <S extends Schema.Top>(schema: S) => Schema.NullOr(schema)
const TopTools = Schema.Array(Schema.Struct({ tool: Schema.String, count: Schema.Int }))

export const McpStatus = Schema.Struct({
  status: Schema.Literals(["online", "offline"]),
  online: Schema.Boolean,
  enabled: Schema.Boolean,
  transport: Schema.Literals(["stdio", "sse", "streamable-http"]),
  /** Where `gateway mcp` stays connected while it runs. */
  heartbeatPath: Schema.String,
  heartbeat: nullable(Schema.Struct({ at: Schema.String, transport: Schema.String, node: Schema.String })),
  /** Path of the transport; null for stdio. */
  httpTransport: nullable(Schema.String),
  activity: Schema.Struct({
    totalCalls24h: Schema.Int, successRate: Schema.Finite, avgDurationMs: Schema.Finite, topTools: TopTools,
    lastCallAt: nullable(Schema.String), lastCallTool: nullable(Schema.String)
  })
})

const McpToolView = Schema.Struct({
  name: Schema.String, description: Schema.String, scopes: Schema.Array(Schema.String), phase: Schema.Int,
  auditLevel: Schema.Literals(["none", "basic", "full"]), sourceEndpoints: Schema.Array(Schema.String)
})

const whole = (least: number, most: number) => Schema.optionalKey(Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: least, maximum: most })))
const words = Schema.optionalKey(Schema.String.check(Schema.isMaxLength(200)))

/** Frames and streams are the protocol's own. */
const Frames = Schema.Unknown

export const McpGroup = HttpApiGroup.make("mcp").add(
  HttpApiEndpoint.get("status", "/api/mcp/status", { success: McpStatus }).annotate(Access, loopback).annotate(OpenApi.Summary, "Whether the tools are served, and how much they are used"),
  HttpApiEndpoint.get("tools", "/api/mcp/tools", {
    success: Schema.Struct({ total: Schema.Int, mappedTotal: Schema.Int, tools: Schema.Array(McpToolView) })
  }).annotate(Access, loopback).annotate(OpenApi.Summary, "The tools with their scopes"),
  HttpApiEndpoint.get("audit", "/api/mcp/audit", {
    query: { limit: whole(1, 500), offset: whole(0, 1_000_000), tool: words, success: Schema.optionalKey(Schema.Literals(["true", "false"])), apiKeyId: words },
    success: Schema.Struct({ entries: Schema.Array(McpCall), total: Schema.Int })
  }).annotate(Access, loopback).annotate(OpenApi.Summary, "Calls of tools, newest first: a hash of the input, never the input"),
  HttpApiEndpoint.get("auditStats", "/api/mcp/audit/stats", {
    success: Schema.Struct({ totalCalls: Schema.Int, successRate: Schema.Finite, avgDurationMs: Schema.Finite, topTools: TopTools })
  }).annotate(Access, loopback).annotate(OpenApi.Summary, "Calls of the last 24 hours"),
  HttpApiEndpoint.get("openStream", "/api/mcp/stream", { success: Frames }).annotate(Access, loopbackOrKey)
    .annotate(OpenApi.Summary, "Open the session's event stream; Last-Event-ID resumes one that broke off"),
  HttpApiEndpoint.post("sendStream", "/api/mcp/stream", { success: Frames }).annotate(Access, loopbackOrKey)
    .annotate(OpenApi.Summary, "Send a JSON-RPC frame (streamable HTTP)"),
  HttpApiEndpoint.delete("endStream", "/api/mcp/stream", { success: Frames }).annotate(Access, loopbackOrKey).annotate(OpenApi.Summary, "End the session"),
  HttpApiEndpoint.get("openSse", "/api/mcp/sse", { success: Frames }).annotate(Access, loopbackOrKey)
    .annotate(OpenApi.Summary, "Open a stream whose first event names the address for frames (HTTP with SSE)"),
  HttpApiEndpoint.post("sendSse", "/api/mcp/sse", { query: { sessionId: words }, success: Frames }).annotate(Access, loopbackOrKey)
    .annotate(OpenApi.Summary, "Send a JSON-RPC frame; the answer comes over the stream"),
  HttpApiEndpoint.get("card", "/.well-known/mcp.json", { success: Frames }).annotate(Access, anyone).annotate(OpenApi.Summary, "The MCP server's card"),
  HttpApiEndpoint.get("resource", "/.well-known/oauth-protected-resource", { success: Frames }).annotate(Access, anyone)
    .annotate(OpenApi.Summary, "Metadata of the MCP transports as a protected resource (RFC 9728)"),
  HttpApiEndpoint.get("streamResource", "/.well-known/oauth-protected-resource/api/mcp/stream", { success: Frames }).annotate(Access, anyone)
    .annotate(OpenApi.Summary, "The same for streamable HTTP"),
  HttpApiEndpoint.get("sseResource", "/.well-known/oauth-protected-resource/api/mcp/sse", { success: Frames }).annotate(Access, anyone)
    .annotate(OpenApi.Summary, "The same for HTTP with SSE")
).annotateMerge(OpenApi.annotations({ title: "MCP", description: "The gateway's tools for agents, over the Model Context Protocol." }))
