/** One call of a tool: its scope, its arguments, its result, its progress and its audit row. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { Flags } from "#actors/ports/Flags.ts"
import * as InnerApi from "#src/management/inner/InnerApi.ts"
import type { McpCaller } from "./McpCaller.ts"
import * as McpCallLog from "./ports/McpCallLog.ts"
import { McpSessions } from "./ports/McpSessions.ts"
import * as SessionInner from "./SessionInner.ts"
import * as Scopes from "#src/management/inner/scopes.ts"
import { type Json, ToolFailure } from "#src/management/inner/Inner.ts"
import type { Tool } from "./tools/Tool.ts"

export interface ToolResult {
  readonly text: string
  readonly isError: boolean
}

const isDocument = (value: Json): value is { readonly [name: string]: Json } => Predicate.isReadonlyObject(value)

export const make = Effect.gen(function*() {
  const flags = yield* Flags
  const innerOf = yield* InnerApi.make
  const sessions = yield* McpSessions
  const append = yield* McpCallLog.make

  const note = (tool: Tool, caller: McpCaller, input: unknown, startedAtMs: number, { isError, text }: ToolResult, errorCode: string | null): Effect.Effect<void> =>
    tool.auditLevel === "none" ? Effect.void : append({
      toolName: tool.name, apiKeyId: caller.key?.id ?? null, input, startedAtMs, errorCode, isError, summary: tool.auditLevel === "full" ? text : null
    })

  const run = Effect.fnUntraced(function*(tool: Tool, caller: McpCaller, input: unknown) {
    const denied = flags.isOn("GATEWAY_MCP_ENFORCE_SCOPES") ? Scopes.missing(caller.scopes, tool.scopes) : null
    if (denied !== null) return yield* new ToolFailure({ code: `scope_denied:${denied}`, message: `${tool.name} needs the scope ${denied}` })
    const args = yield* Effect.mapError(
      Schema.decodeUnknownEffect(tool.args)(input, { onExcessProperty: "error", errors: "all" }),
      (error) => new ToolFailure({ code: "invalid_arguments", message: error.message.slice(0, 1_000) })
    )
    const inner = SessionInner.make(sessions, innerOf(caller), caller.session)
    const result = yield* tool.run(args as never, inner)
    const budgetGuard = inner.told()
    return budgetGuard === null || !isDocument(result) ? result : { ...result, budgetGuard }
  })

  return (tool: Tool, caller: McpCaller, input: unknown): Effect.Effect<ToolResult> => Effect.gen(function*() {
    const startedAt = yield* Clock.currentTimeMillis
    const failed = (code: string, message: string): readonly [ToolResult, string] =>
      [{ text: JSON.stringify({ error: { code, message } }), isError: true }, code]
    const [result, errorCode] = yield* run(tool, caller, input).pipe(
      Effect.map((value: Json): readonly [ToolResult, string | null] => [{ text: JSON.stringify(value), isError: false }, null]),
      Effect.catchTag("ToolFailure", ({ code, message }) => Effect.succeed(failed(code, message))),
      Effect.catchDefect((defect) => Effect.as(Effect.logError(`the MCP tool ${tool.name} failed`, defect), failed("internal_error", "The tool failed; the gateway's log says why."))),
      Effect.onInterrupt(() => note(tool, caller, input, startedAt, { text: "", isError: true }, "cancelled"))
    )
    yield* note(tool, caller, input, startedAt, result, errorCode)
    return result
  })
})
