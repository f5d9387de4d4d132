/**
 * Sessions of MCP clients, and the messages that wait for them. Every node serves every session: what a session was begun with is kept
 * here, and a node that does not know it yet begins it again for itself.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { BudgetGuard, SessionBudget } from "#src/features/mcp/budgetGuard.ts"

/** A session without a call ends after this time, ms. */
export const SESSION_MS = 3_600_000
/** Messages that are kept for a session; the oldest goes first. */
export const MESSAGES_MAX = 1_000
/** And their characters; a store counts them in its own units, at most as many. The newest message always stays. */
export const MESSAGES_CHARACTERS = 8_388_608
/** Characters of the initialize request, which is kept as long as its session. */
export const OPENING_MAX = 16_384

export const McpSession = Schema.Struct({
  id: Schema.String,
  /** Who began it: `key:<id>`, or `operator`. No other caller may use it. */
  owner: Schema.String,
  /** The initialize request as it came; null until a client of the SSE transport has sent it. */
  opening: Schema.NullOr(Schema.String)
})
export interface McpSession extends Schema.Schema.Type<typeof McpSession> {}

export interface McpMessage {
  /** Its place in the session: texts of one session compare as they follow each other. */
  readonly place: string
  /** The stream that it belongs to. */
  readonly stream: string
  /** A JSON-RPC message; null ends the stream. */
  readonly text: string | null
}

export class McpSessions extends Context.Service<McpSessions, {
  readonly put: (session: McpSession) => Effect.Effect<void, StoreError>
  /** Finding a session prolongs it. */
  readonly find: (id: string) => Effect.Effect<McpSession | null, StoreError>
  readonly remove: (id: string) => Effect.Effect<void, StoreError>
  readonly append: (id: string, stream: string, text: string | null) => Effect.Effect<void, StoreError>
  /** Messages of all streams behind a place; `""` = from the first one that is kept. */
  readonly behind: (id: string, place: string) => Effect.Effect<ReadonlyArray<McpMessage>, StoreError>
  /** Take it before reading; the effect inside ends with the next message of the session, on any node. */
  readonly next: (id: string) => Effect.Effect<Effect.Effect<void>>
  /** Tells all nodes a frame of a session that concerns calls on any of them, such as a cancellation. */
  readonly tell: (id: string, frame: string) => Effect.Effect<void, StoreError>
  /** Hears what other nodes tell. */
  readonly hear: (listener: (id: string, frame: string) => void) => Effect.Effect<void>
  /** Bounds what the session's calls cost; nothing for a session that is gone. It lives as long as the session. */
  readonly guard: (id: string, guard: BudgetGuard) => Effect.Effect<void, StoreError>
  /** Adds USD to what the session's calls cost; nothing for a session that is gone. */
  readonly spend: (id: string, usd: number) => Effect.Effect<void, StoreError>
  readonly budget: (id: string) => Effect.Effect<SessionBudget, StoreError>
  /** Whether `gateway mcp` is connected: kept for some seconds. */
  readonly beat: (text: string) => Effect.Effect<void, StoreError>
  readonly lastBeat: Effect.Effect<string | null, StoreError>
}>()("gateway/mcp/McpSessions") {}
