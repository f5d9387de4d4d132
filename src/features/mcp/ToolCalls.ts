/** One call of a tool: its scope, its arguments, its result, its progress and its audit row. */
import * as Crypto from "node:crypto"
import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Flags } from "#actors/ports/Flags.ts"
import * as InnerApi from "#src/management/inner/InnerApi.ts"
import type { McpCaller } from "./McpCaller.ts"
import { McpAuditStore } from "./ports/McpAuditStore.ts"
import * as Scopes from "#src/management/inner/scopes.ts"
import { type Json, ToolFailure } from "#src/management/inner/Inner.ts"
import type { Tool } from "./tools/Tool.ts"

const SUMMARY_MAX = 200
/** Rows are kept this long, ms, and looked at this often. */
const KEEP_MS = 30 * 86_400_000
const PRUNE_EVERY_MS = 3_600_000

export interface ToolResult {
  readonly text: string
  readonly isError: boolean
}

/** Hash of the arguments; objects with the same members in another order differ. */
const hashOf = (input: unknown): string => Crypto.hash("sha256", JSON.stringify(input) ?? "null", "hex")

export const make = Effect.gen(function*() {
  const flags = yield* Flags
  const innerOf = yield* InnerApi.make
  const random = yield* SecureRandom.SecureRandom
  const store = yield* McpAuditStore
  let prunedAt = 0

  const note = Effect.fnUntraced(function*(tool: Tool, caller: McpCaller, input: unknown, startedAt: number, result: ToolResult, errorCode: string | null) {
    if (tool.auditLevel === "none") return
    const now = yield* Clock.currentTimeMillis
    yield* store.append({
      id: yield* random.uuidV4(), toolName: tool.name, inputHash: hashOf(input),
      outputSummary: tool.auditLevel === "full" ? result.text.slice(0, SUMMARY_MAX) : null, durationMs: now - startedAt,
      apiKeyId: caller.key?.id ?? null, success: !result.isError, errorCode, createdAt: new Date(now).toISOString()
    })
    if (now - prunedAt < PRUNE_EVERY_MS) return
    prunedAt = now
    yield* store.prune(new Date(now - KEEP_MS).toISOString())
  }, Effect.catch((error) => Effect.logError(`the audit row of an MCP call was not stored: ${error.message}`)))

  const run = Effect.fnUntraced(function*(tool: Tool, caller: McpCaller, input: unknown) {
    const denied = flags.isOn("GATEWAY_MCP_ENFORCE_SCOPES") ? Scopes.missing(caller.scopes, tool.scopes) : null
    if (denied !== null) return yield* Effect.fail(new ToolFailure(`scope_denied:${denied}`, `${tool.name} needs the scope ${denied}`))
    const args = yield* Effect.mapError(
      Schema.decodeUnknownEffect(tool.args)(input, { onExcessProperty: "error", errors: "all" }),
      (error) => new ToolFailure("invalid_arguments", error.message.slice(0, 1_000))
    )
    return yield* tool.run(args as never, innerOf(caller))
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
