import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { version } from "#schemas/version.ts"
import { answer } from "#src/management/answer.ts"
import * as Surface from "#src/management/Surface.ts"
import * as Admission from "./Admission.ts"
import { McpGroup } from "./api.ts"
import * as Beats from "./Beats.ts"
import * as McpCaller from "./McpCaller.ts"
import { McpOptions, offers } from "./McpOptions.ts"
import { McpAuditStore } from "./ports/McpAuditStore.ts"
import { protocolVersions } from "./protocolVersions.ts"
import * as Scopes from "#src/management/inner/scopes.ts"
import { tools } from "./tools/all.ts"
import * as Transports from "./Transports.ts"

const DAY_MS = 86_400_000
/** Rows of a page of the audit. */
const LIMIT = 50

export const layer = HttpApiBuilder.group(Surface.make(McpGroup), "mcp", Effect.fn(function*(handlers) {
  const audit = yield* McpAuditStore
  const beats = yield* Beats.make
  const { admit, isEnabled, textOf, transportNow } = yield* Admission.make
  const options = yield* McpOptions
  const transports = yield* Transports.make
  const offered = tools.filter(({ name }) => offers(options, name))

  const since = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms - DAY_MS).toISOString())

  const status = Effect.fn("Mcp.status")(function*() {
    const { avgDurationMs, lastCallAt, lastCallTool, successRate, topTools, totalCalls } = yield* audit.stats(yield* since)
    const transport = transportNow()
    const heartbeat = yield* beats.last
    const online = isEnabled() && (transport !== "stdio" || heartbeat !== null)
    return {
      status: online ? "online" as const : "offline" as const, online, enabled: isEnabled(), transport, heartbeatPath: Admission.paths["streamable-http"], heartbeat,
      httpTransport: transport === "stdio" ? null : Admission.paths[transport],
      activity: { totalCalls24h: totalCalls, successRate, avgDurationMs, topTools, lastCallAt, lastCallTool }
    }
  })

  const stats = Effect.fn("Mcp.stats")(function*() {
    const { avgDurationMs, successRate, topTools, totalCalls } = yield* audit.stats(yield* since)
    return { totalCalls, successRate, avgDurationMs, topTools }
  })

  const card = Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const transport = transportNow()
    return HttpServerResponse.jsonUnsafe({
      name: "gateway", version, description: "Health, models, combos, usage, quotas and routing of this gateway",
      enabled: isEnabled(), protocolVersions: protocolVersions, transport,
      ...(transport === "stdio" ? { command: "gateway mcp" } : { url: `${Admission.baseOf(request)}${Admission.paths[transport]}` }),
      authentication: { required: true, schemes: ["bearer"], scopes: ["mcp:connect"] }, capabilities: { tools: { count: offered.length } }
    })
  })

  const resource = (path: string) => Effect.map(HttpServerRequest.HttpServerRequest, (request) => HttpServerResponse.jsonUnsafe({
    resource: `${Admission.baseOf(request)}${path}`, resource_name: "gateway MCP", bearer_methods_supported: ["header"], scopes_supported: ["mcp:connect", ...Scopes.toolScopes]
  }))
  const current = Effect.suspend(() => {
    const transport = transportNow()
    return resource(Admission.paths[transport === "stdio" ? "streamable-http" : transport])
  })

  return handlers.handleAll({
    status: () => answer(status()),
    tools: () => Effect.succeed({
      total: offered.length, mappedTotal: offered.filter(({ sourceEndpoints }) => sourceEndpoints.length > 0).length,
      tools: offered.map(({ auditLevel, description, name, phase, scopes, sourceEndpoints }) => ({ name, description, scopes, phase, auditLevel, sourceEndpoints }))
    }),
    audit: ({ query }) => answer(audit.list({
      limit: query.limit ?? LIMIT, offset: query.offset ?? 0, tool: query.tool, apiKeyId: query.apiKeyId,
      success: query.success === undefined ? undefined : query.success === "true"
    })),
    auditStats: () => answer(stats()),
    openStream: () => answer(Effect.gen(function*() {
      const { caller, isStdio, now, request } = yield* admit("streamable-http")
      const response = yield* transports.open(request.headers, { caller, now })
      return isStdio ? beats.during(response) : response
    })),
    sendStream: () => answer(Effect.gen(function*() {
      const { caller, isStdio, request } = yield* admit("streamable-http")
      const body = yield* textOf(request)
      return yield* transports.post(request.headers, body, isStdio ? McpCaller.narrowed(caller, body) : caller)
    })),
    endStream: () => answer(Effect.flatMap(admit("streamable-http"), ({ caller, request }) => transports.end(request.headers, caller))),
    openSse: () => answer(Effect.flatMap(admit("sse"), ({ caller, now }) => transports.openSse(Admission.paths.sse, { caller, now }))),
    sendSse: ({ query }) => answer(Effect.gen(function*() {
      const { caller, request } = yield* admit("sse")
      return yield* transports.postSse(query.sessionId, yield* textOf(request), caller)
    })),
    card: () => card,
    resource: () => current,
    streamResource: () => resource(Admission.paths["streamable-http"]),
    sseResource: () => resource(Admission.paths.sse)
  })
}))
