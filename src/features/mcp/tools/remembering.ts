/** Tools over what is remembered: an API key without management rights reaches its own entries only. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { isoTime } from "#schemas/api/fields.ts"
import { MemoryType } from "#schemas/memory/MemoryEntry.ts"
import { at, type Json, listAt, numberAt, textAt } from "#src/management/inner/Inner.ts"
import { make, type Tool } from "./Tool.ts"

const text = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))
const words = Schema.String.check(Schema.isMaxLength(2_000))
/** Empty = callers without a key. */
const owner = Schema.String.check(Schema.isMaxLength(200))
const opt = Schema.optionalKey

/** Where no bound is given. */
const MOST = { tokens: 8_000, memories: 20 } as const

export const remembering: ReadonlyArray<Tool> = [
  make({
    name: "gateway_memory_search", brief: "Finds what is remembered.", scopes: ["read:memory"], phase: 2, auditLevel: "basic",
    description: "Finds what is remembered for an API key, the best matches for the query first; without a query the newest.",
    sourceEndpoints: ["/api/memory/retrieve-preview"],
    args: Schema.Struct({
      apiKeyId: owner, query: opt(words), type: opt(MemoryType),
      maxTokens: opt(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 8_000 }))), limit: opt(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 })))
    }),
    run: ({ apiKeyId, limit = MOST.memories, maxTokens = MOST.tokens, query, type }, inner) => Effect.gen(function*() {
      const found = yield* inner.send("POST", "/api/memory/retrieve-preview", { apiKeyId, maxTokens, ...(query === undefined ? { strategy: "recent" } : { query, strategy: "semantic" }) })
      const memories: Array<Json> = []
      let totalTokens = 0
      for (const one of listAt(found, "memories")) {
        const tokens = numberAt(one, "tokens")
        const isRelevant = query === undefined || query === "" || numberAt(one, "score") > 0
        if (!isRelevant || (type !== undefined && textAt(one, "memory", "type") !== type) || totalTokens + tokens > maxTokens || memories.length >= limit) continue
        totalTokens += tokens
        memories.push(at(one, "memory"))
      }
      return { success: true, data: { memories, count: memories.length, totalTokens } }
    })
  }),
  make({
    name: "gateway_memory_add", brief: "Remembers something.", scopes: ["write:memory"], phase: 2, auditLevel: "full",
    description: "Remembers something for an API key; it takes the place of what the same key of an entry named before.",
    sourceEndpoints: ["/api/memory", "/api/memory/{id}"],
    args: Schema.Struct({
      apiKeyId: owner, sessionId: opt(owner), type: MemoryType, key: text, content: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(8_000)),
      metadata: opt(Schema.Record(Schema.String, Schema.Json))
    }),
    run: (memory, inner) => Effect.gen(function*() {
      const id = textAt(yield* inner.send("POST", "/api/memory", memory), "id")
      // The audit keeps a summary of the result, and what is remembered is private.
      const { content: _content, metadata: _metadata, ...stored } = memory
      return { success: true, data: { memory: { id, ...stored }, message: `Remembered ${memory.key}` } }
    })
  }),
  make({
    name: "gateway_memory_clear", brief: "Forgets entries.", scopes: ["write:memory"], phase: 2, auditLevel: "full",
    description: "Forgets what is remembered for an API key: all of it, that of a type, or what was last changed before a time.",
    sourceEndpoints: ["/api/memory"], args: Schema.Struct({ apiKeyId: owner, type: opt(MemoryType), olderThan: opt(isoTime) }),
    run: ({ apiKeyId, olderThan, type }, inner) => Effect.map(inner.send("DELETE", "/api/memory", undefined, { apiKeyId, type, before: olderThan }), (cleared): Json => {
      const deletedCount = numberAt(cleared, "deletedCount")
      return { success: true, data: { deletedCount, message: `Forgot ${deletedCount} ${deletedCount === 1 ? "entry" : "entries"}` } }
    })
  })
]
