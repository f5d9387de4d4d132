/**
 * Effect's MCP server with the tools, behind one function from request to response: every protocol version, negotiation, cancellation
 * and progress are its business. The caller travels beside the request, under a name that no client can send.
 */
import * as Crypto from "node:crypto"
import * as McpProtocol from "effect/ai/McpProtocol"
import * as McpSchema from "effect/ai/McpSchema"
import * as McpServer from "effect/ai/McpServer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Flags } from "#actors/ports/Flags.ts"
import * as Supervisor from "#actors/Supervisor.ts"
import { version } from "#schemas/version.ts"
import type { McpCaller } from "./McpCaller.ts"
import { McpOptions, offers } from "./McpOptions.ts"
import type { protocolVersions } from "./protocolVersions.ts"
import { respond } from "#src/management/inner/respond.ts"
import * as Scopes from "#src/management/inner/scopes.ts"
import * as ServerToolset from "./ServerToolset.ts"
import * as ToolCalls from "./ToolCalls.ts"
import * as Briefs from "./tools/briefs.ts"
import { destructive, slow, tools } from "./tools/all.ts"
import type { Tool } from "./tools/Tool.ts"

/** One adapter per version, in their order. */
type Speaks<Versions extends ReadonlyArray<string>> = { readonly [K in keyof Versions]: { readonly protocolVersion: Versions[K] } }

export const protocols = [
  McpProtocol.v2026_07_28, McpProtocol.v2025_11_25, McpProtocol.v2025_06_18, McpProtocol.v2025_03_26, McpProtocol.v2024_11_05
] as const satisfies Speaks<typeof protocolVersions>

const CALL_HEADER = "x-gateway-mcp-call"
/** A slow tool tells that it still works this often. */
const PROGRESS_EVERY = "1 second"

/** A frame or another call of a transport, with headers of the protocol only. */
export interface EngineRequest {
  readonly method: "POST" | "DELETE"
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Engine {
  readonly ask: (request: EngineRequest, caller: McpCaller) => Effect.Effect<HttpServerResponse.HttpServerResponse>
}

/** Arguments without members are `not: null` to the schema; vendors of models refuse `not` at the top of a function's parameters. */
const inputSchemaOf = (tool: Tool): typeof McpSchema.ToolJson.Type => {
  const { not: _, ...schema } = Schema.toJsonSchemaDocument(tool.args).schema
  return { type: "object", properties: {}, ...schema } as typeof McpSchema.ToolJson.Type
}

export const make = Effect.gen(function*() {
  const flags = yield* Flags
  const briefly = yield* Briefs.make
  const options = yield* McpOptions
  const call = yield* ToolCalls.make
  const callers = new Map<string, McpCaller>()

  const callerNow: Effect.Effect<McpCaller> = Effect.withFiber((fiber) => {
    const request = Context.getOrUndefined(fiber.context, HttpServerRequest.HttpServerRequest)
    const caller = callers.get(request?.headers[CALL_HEADER] ?? "")
    return caller === undefined ? Effect.die(new Error("a tool was called by an unknown caller")) : Effect.succeed(caller)
  })

  const described = (tool: Tool): McpSchema.Tool => {
    const readOnly = tool.scopes.every((scope) => scope.startsWith("read:"))
    return new McpSchema.Tool({
      name: tool.name, description: tool.description, inputSchema: inputSchemaOf(tool),
      annotations: { readOnlyHint: readOnly, destructiveHint: destructive.has(tool.name), idempotentHint: readOnly, openWorldHint: slow.has(tool.name) }
    })
  }

  const progressing = <A>(server: McpServer.McpServer["Service"], tool: Tool, effect: Effect.Effect<A>) => Effect.gen(function*() {
    const { requestMetadata } = yield* McpSchema.McpRequestContext
    const progressToken = requestMetadata?.["progressToken"]
    if (typeof progressToken !== "string" && typeof progressToken !== "number") return yield* effect
    let progress = 0
    const tell = (message: string) => Effect.ignore(Effect.suspend(() => server.notifications["notifications/progress"]({ progressToken, progress: ++progress, message })))
    if (!slow.has(tool.name)) return yield* Effect.andThen(tell(`${tool.name} was begun`), effect)
    const beat = Effect.andThen(tell(`${tool.name} is at work`), Effect.sleep(PROGRESS_EVERY))
    return yield* Effect.raceFirst(effect, Effect.andThen(Supervisor.supervised("progress of tools", beat), Effect.never))
  })

  const foreign = yield* ServerToolset.make(callerNow)
  /** Makes the tools of other servers known; set while the tools are registered. */
  let sync: Effect.Effect<void> = Effect.void

  const registrations = Layer.effectDiscard(Effect.gen(function*() {
    const server = yield* McpServer.McpServer
    const services = yield* Effect.context<never>()
    sync = foreign.sync(server, services)
    for (const tool of tools) {
      if (!offers(options, tool.name)) continue
      yield* server.addTool({
        tool: described(tool),
        annotations: Context.empty(),
        services,
        handle: (input: unknown) => Effect.gen(function*() {
          const caller = yield* callerNow
          const { isError, text } = yield* progressing(server, tool, call(tool, caller, input ?? {}))
          return new McpSchema.CallToolResult({ content: [{ type: "text", text }], isError })
        })
      })
    }
  }))

  // A list holds what its caller may use; a call of another tool is refused by the scope that it lacks.
  const needs = new Map(tools.map(({ name, scopes }) => [name, scopes]))
  const visible = McpServer.visibility(({ headers, method, target }) => Effect.suspend(() => {
    const caller = callers.get(headers[CALL_HEADER] ?? "")
    if (caller !== undefined && foreign.isServers(target)) return foreign.isVisible(caller, target, method)
    if (method !== "tools/list" || caller === undefined || !flags.isOn("GATEWAY_MCP_ENFORCE_SCOPES")) return Effect.succeed(true)
    return Effect.succeed(Scopes.missing(caller.scopes, needs.get(target) ?? []) === null)
  }))

  const app = yield* Effect.orDie(HttpRouter.toHttpEffect(McpServer.layerHttp({
    name: "gateway", version, path: "/mcp", protocols, allowSessionTermination: true,
    description: "Health, models, combos, usage, quotas and routing of this gateway",
    registrations: Layer.provide(registrations, visible.layer)
  })))

  const ask: Engine["ask"] = (request, caller) => Effect.suspend(() => {
    const id = Crypto.randomUUID()
    callers.set(id, caller)
    const forget = Effect.sync(() => void callers.delete(id))
    const inner = new Request("http://gateway.internal/mcp", {
      method: request.method, headers: { ...request.headers, [CALL_HEADER]: id }, ...(request.body === undefined ? {} : { body: request.body })
    })
    const answer = Effect.map(Effect.onError(respond(app, inner), () => forget), (response) => request.body?.includes("tools/list") === true ? briefly(response) : response)
    return Effect.andThen(sync, answer).pipe(Effect.flatMap((response) => response.body._tag === "Stream"
      ? Effect.succeed(HttpServerResponse.stream(Stream.ensuring(response.body.stream, forget), { status: response.status, headers: response.headers }))
      : Effect.as(forget, response)))
  })
  const engine: Engine = { ask }
  return engine
})
