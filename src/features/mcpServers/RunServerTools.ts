/** The port ServerTools over the sessions with servers: rights before each call, a row of the audit after it. */
import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Flags } from "#actors/ports/Flags.ts"
import * as McpCallLog from "#src/features/mcp/ports/McpCallLog.ts"
import { ServerTools, type ToolOutcome, type ToolUser } from "#src/inference/ports/ServerTools.ts"
import * as Scopes from "#src/management/inner/scopes.ts"
import { McpServers } from "./McpServers.ts"
import * as ToolNames from "./toolNames.ts"
import * as ToolRights from "./toolRights.ts"

type Json = Readonly<Record<string, unknown>>

/** A failed call as the caller's model reads it. */
const told = (code: string, message: string): ToolOutcome => ({
  result: { content: [{ type: "text", text: JSON.stringify({ error: { code, message } }) }], isError: true }, errorCode: code
})

export interface Options {
  /** Scopes of keys that name none. */
  readonly fallback: ReadonlyArray<string>
  /** MCP_TOOL_ALLOW and MCP_TOOL_DENY: servers, or patterns of offered names; an empty list allows all, and a denied tool is not there. */
  readonly allow: ReadonlyArray<string>
  readonly deny: ReadonlyArray<string>
}

const make = Effect.fnUntraced(function*({ allow, deny, fallback }: Options) {
  const flags = yield* Flags
  const servers = yield* McpServers
  const append = yield* McpCallLog.make

  const missing = ({ isOperator, key, scopes }: ToolUser, name: string): string | null => {
    const tool = servers.tools().get(name)
    if (tool === undefined) return "unknown_tool"
    const { server } = tool
    if (ToolNames.names(deny, server.name, name) || (allow.length > 0 && !ToolNames.names(allow, server.name, name))) return "tool_denied"
    const own = scopes ?? (key === null ? fallback : Scopes.ofKey(key, fallback))
    return ToolRights.missing({ key, isOperator, scopes: own }, server, name, flags.isOn("GATEWAY_MCP_ENFORCE_SCOPES"))
  }

  const note = (user: ToolUser, name: string, input: unknown, startedAtMs: number, isError: boolean, errorCode: string | null) =>
    append({ toolName: name, apiKeyId: user.key?.id ?? null, input, startedAtMs, errorCode, isError, summary: null })

  const call = Effect.fnUntraced(function*(user: ToolUser, name: string, args: Json, onProgress?: (progress: { progress: number }) => void) {
    const startedAt = yield* Clock.currentTimeMillis
    const tool = servers.tools().get(name)
    const lacks = missing(user, name)
    const outcome = lacks !== null || tool === undefined
      ? told(lacks ?? "unknown_tool", `The tool ${name} may not be used (${lacks ?? "unknown_tool"})`)
      : yield* servers.call(tool, args, onProgress).pipe(
        Effect.map((result): ToolOutcome => ({ result, errorCode: result["isError"] === true ? "tool_error" : null })),
        Effect.catchTag("McpFailure", ({ code, message, reason }) =>
          Effect.succeed(told(reason === "rpc" ? `server_error${code === undefined ? "" : `:${code}`}` : `server_${reason}`, message))),
        Effect.onInterrupt(() => note(user, name, args, startedAt, true, "cancelled"))
      )
    yield* note(user, name, args, startedAt, outcome.errorCode !== null, outcome.errorCode)
    return outcome
  })

  return ServerTools.of({
    version: servers.version,
    all: () => [...servers.tools().values()].map(({ described, name }) => ({ name, described })),
    has: (name) => servers.tools().has(name),
    missing,
    call,
    denied: (user, name, code) => Effect.flatMap(Clock.currentTimeMillis, (now) => note(user, name, null, now, true, code))
  })
})

export const layer = (options: Options) => Layer.effect(ServerTools, make(options)).pipe(Layer.provide(SecureRandom.layerWebCrypto))
