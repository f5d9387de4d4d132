/** What tools were called, by whom and how it ended; never what they were asked. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { StoreError } from "#actors/ports/StoreError.ts"

export const McpCall = Schema.Struct({
  id: Schema.String,
  toolName: Schema.String,
  /** SHA-256 of the arguments as JSON, hex. */
  inputHash: Schema.String,
  /** At most 200 characters, null unless the tool is audited in full. */
  outputSummary: Schema.NullOr(Schema.String),
  durationMs: Schema.Finite,
  /** Null for the operator's own calls. */
  apiKeyId: Schema.NullOr(Schema.String),
  success: Schema.Boolean,
  errorCode: Schema.NullOr(Schema.String),
  /** ISO 8601, UTC. */
  createdAt: Schema.String
})
export interface McpCall extends Schema.Schema.Type<typeof McpCall> {}

export interface McpCallFilter {
  readonly limit: number
  readonly offset: number
  readonly tool?: string | undefined
  readonly success?: boolean | undefined
  readonly apiKeyId?: string | undefined
}

export interface McpCallStats {
  readonly totalCalls: number
  /** Between 0 and 1; 0 without calls. */
  readonly successRate: number
  readonly avgDurationMs: number
  readonly topTools: ReadonlyArray<{ readonly tool: string; readonly count: number }>
  readonly lastCallAt: string | null
  readonly lastCallTool: string | null
}

export class McpAuditStore extends Context.Service<McpAuditStore, {
  readonly append: (call: McpCall) => Effect.Effect<void, StoreError>
  /** Newest first, and how many match. */
  readonly list: (filter: McpCallFilter) => Effect.Effect<{ readonly entries: ReadonlyArray<McpCall>; readonly total: number }, StoreError>
  /** Calls from `since` on, ISO 8601. */
  readonly stats: (since: string) => Effect.Effect<McpCallStats, StoreError>
  /** Removes what is older than `before`, ISO 8601. */
  readonly prune: (before: string) => Effect.Effect<void, StoreError>
}>()("gateway/mcp/McpAuditStore") {}
