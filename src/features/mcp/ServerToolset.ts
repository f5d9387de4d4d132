/**
 * Tools of other servers, registered beside the gateway's own as their servers describe them. A tool that went stays registered and is
 * shown to no client; a list and a call see what is there now.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as McpSchema from "effect/ai/McpSchema"
import type * as McpServer from "effect/ai/McpServer"
import * as Schema from "effect/Schema"
import { ServerTools, type ToolOutcome, type ToolProgress, type ToolUser } from "#src/inference/ports/ServerTools.ts"
import type { McpCaller } from "./McpCaller.ts"

/** Names that are registered at most; a server that keeps renaming its tools is not followed for ever. */
const REGISTERED_MAX = 10_000

const decodeTool = Schema.decodeUnknownEffect(McpSchema.Tool)
const decodeResult = Schema.decodeUnknownEffect(McpSchema.CallToolResult)

const userOf = ({ acts, key, scopes }: McpCaller): ToolUser => ({ key, isOperator: acts.kind !== "key", scopes })

const unreadable = new McpSchema.CallToolResult({
  content: [{ type: "text", text: JSON.stringify({ error: { code: "server_protocol", message: "The server's result has a form that the protocol does not know" } }) }], isError: true
})

/** `callerNow`: who makes the call that runs. */
export const make = Effect.fnUntraced(function*(callerNow: Effect.Effect<McpCaller>) {
  const servers = yield* ServerTools
  /** What each name was registered with. */
  const registered = new Map<string, unknown>()
  let synced = -1

  const resultOf = ({ result }: ToolOutcome) => Effect.orElseSucceed(decodeResult(result), () => unreadable)

  /** Runs a call with its progress told in its order, all of it before the answer. */
  const telling = <A>(server: McpServer.McpServer["Service"], call: (onProgress?: (progress: ToolProgress) => void) => Effect.Effect<A>) => Effect.gen(function*() {
    const { requestMetadata } = yield* McpSchema.McpRequestContext
    const progressToken = requestMetadata?.["progressToken"]
    if (typeof progressToken !== "string" && typeof progressToken !== "number") return yield* call()
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const told = { last: null as Fiber.Fiber<void> | null }
    const answer = yield* call((progress) => {
      const before = told.last === null ? Effect.void : Fiber.await(told.last)
      told.last = run(Effect.andThen(before, Effect.ignoreCause(server.notifications["notifications/progress"]({ progressToken, ...progress }))))
    })
    if (told.last !== null) yield* Fiber.await(told.last)
    return answer
  })

  const register = Effect.fnUntraced(function*(server: McpServer.McpServer["Service"], services: Context.Context<never>, name: string, described: unknown) {
    const tool = yield* decodeTool(described)
    yield* server.addTool({
      tool, services, annotations: Context.empty(),
      handle: (input: unknown) => Effect.gen(function*() {
        const caller = yield* callerNow
        const args = typeof input === "object" && input !== null && !Array.isArray(input) ? input as Readonly<Record<string, unknown>> : {}
        return yield* resultOf(yield* telling(server, (onProgress) => servers.call(userOf(caller), name, args, onProgress)))
      })
    })
  })

  return {
    /** The names of other servers' tools have a separator that no own name has. */
    isServers: (name: string): boolean => name.includes("__"),
    /** A call of a tool that its caller may not see is refused as one that is not there, and noted. */
    isVisible: (caller: McpCaller, name: string, method: string): Effect.Effect<boolean> => Effect.suspend(() => {
      const user = userOf(caller)
      const lacks = servers.missing(user, name)
      if (lacks === null || method === "tools/list" || lacks === "unknown_tool") return Effect.succeed(lacks === null)
      return Effect.as(servers.denied(user, name, lacks), false)
    }),
    /** Registers what is new; cheap while nothing changed. */
    sync: (server: McpServer.McpServer["Service"], services: Context.Context<never>): Effect.Effect<void> => Effect.gen(function*() {
      const version = servers.version()
      if (version === synced) return
      synced = version
      for (const { described, name } of servers.all()) {
        if (registered.get(name) === described || (!registered.has(name) && registered.size >= REGISTERED_MAX)) continue
        registered.set(name, described)
        yield* register(server, services, name, described).pipe(
          Effect.catch((error) => Effect.logWarning(`the tool ${name} is not offered over MCP: ${error.message.slice(0, 300)}`))
        )
      }
    })
  }
})
