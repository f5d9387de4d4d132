/** What the gateway remembers for an API key between conversations. */
import * as Schema from "effect/Schema"

export const memoryTypes = ["factual", "episodic", "semantic", "procedural"] as const
export const MemoryType = Schema.Literals(memoryTypes)
export type MemoryType = typeof MemoryType.Type

/** One entry as stored. Times are ISO 8601 text. */
export const MemoryEntry = Schema.Struct({
  id: Schema.String,
  /** The key that it belongs to; empty = callers without a key. No other caller is told it. */
  apiKeyId: Schema.String,
  /** Said in conversations of this session only; empty = in all. */
  sessionId: Schema.String,
  type: MemoryType,
  /** Names it among the entries of its API key. */
  key: Schema.String,
  content: Schema.String,
  metadata: Schema.Record(Schema.String, Schema.Json),
  createdAt: Schema.String,
  updatedAt: Schema.String,
  /** Not said from then on, and removed; null = never. */
  expiresAt: Schema.NullOr(Schema.String),
  /** What saying it costs, estimated. */
  tokens: Schema.Int
})
export interface MemoryEntry extends Schema.Schema.Type<typeof MemoryEntry> {}
