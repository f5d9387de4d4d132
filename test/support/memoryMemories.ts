/** Entries of memories without a database. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { StoreError } from "#actors/ports/StoreError.ts"
import type { MemoryEntry } from "#schemas/memory/MemoryEntry.ts"
import * as KeyMemories from "#src/features/memory/KeyMemories.ts"
import * as MemoryReranker from "#src/features/memory/models/MemoryReranker.ts"
import * as MemoryVectors from "#src/features/memory/vectors/MemoryVectors.ts"
import { type EntryVector, type MemoryFilter, MemoryStore } from "#src/features/memory/ports/MemoryStore.ts"

const newestFirst = (a: MemoryEntry, b: MemoryEntry): number => a.updatedAt < b.updatedAt ? 1 : a.updatedAt > b.updatedAt ? -1 : a.id < b.id ? -1 : 1

export const layer = Layer.sync(MemoryStore, () => {
  const entries = new Map<string, MemoryEntry>()
  const vectors = new Map<string, EntryVector & { readonly apiKeyId: string; readonly model: string }>()
  const matches = ({ apiKeyId, before, q, sessionId, type }: MemoryFilter) => (entry: MemoryEntry): boolean =>
    (apiKeyId === undefined || entry.apiKeyId === apiKeyId) && (type === undefined || entry.type === type) && (sessionId === undefined || entry.sessionId === sessionId) &&
    (before === undefined || entry.updatedAt < before) &&
    (q === undefined || `${entry.key}\n${entry.content}`.toLowerCase().includes(q.toLowerCase()))
  const all = (filter: MemoryFilter) => [...entries.values()].filter(matches(filter)).sort(newestFirst)
  const removed = (gone: ReadonlyArray<MemoryEntry>): number => {
    for (const { id } of gone) entries.delete(id)
    return gone.length
  }
  return MemoryStore.of({
    get: (id) => Effect.sync(() => entries.get(id) ?? null),
    findByKey: (apiKeyId, key) => Effect.sync(() => all({ apiKeyId }).find((entry) => entry.key === key) ?? null),
    put: (entry) => Effect.suspend(() => {
      if (all({ apiKeyId: entry.apiKeyId }).some(({ id, key }) => key === entry.key && id !== entry.id)) {
        return Effect.fail(new StoreError({ store: "MemoryStore", operation: "put", reason: "conflict", field: "key", message: "key is taken" }))
      }
      entries.set(entry.id, entry)
      return Effect.void
    }),
    remove: (id) => Effect.sync(() => entries.delete(id)),
    replace: (ids, entry) => Effect.sync(() => {
      for (const id of ids) entries.delete(id)
      entries.set(entry.id, entry)
    }),
    removeAll: (filter) => Effect.sync(() => removed(all(filter))),
    list: (filter, limit, offset) => Effect.sync(() => ({ entries: all(filter).slice(offset, offset + limit), total: all(filter).length })),
    ofKey: (apiKeyId, now, limit) => Effect.sync(() => all({ apiKeyId }).filter(({ expiresAt }) => expiresAt === null || expiresAt > now).slice(0, limit)),
    weight: (apiKeyId, but) => Effect.sync(() => {
      const others = all({ apiKeyId }).filter(({ key }) => key !== but)
      return { entries: others.length, characters: others.reduce((sum, { content, key }) => sum + key.length + content.length, 0) }
    }),
    figures: (filter) => Effect.sync(() => {
      const found = all(filter)
      const of = (type: MemoryEntry["type"]) => found.filter((entry) => entry.type === type).length
      return {
        total: found.length, tokens: found.reduce((sum, { tokens }) => sum + tokens, 0),
        byType: { factual: of("factual"), episodic: of("episodic"), semantic: of("semantic"), procedural: of("procedural") }
      }
    }),
    sweep: (now, before) => Effect.sync(() => removed(all({}).filter(({ expiresAt, updatedAt }) => (expiresAt !== null && expiresAt <= now) || (before !== null && updatedAt < before)))),
    vectors: (apiKeyId, model) => Effect.sync(() => [...vectors.values()].filter((one) => one.model === model && one.apiKeyId === apiKeyId && entries.has(one.memoryId))
      .map(({ digest, memoryId, vector }) => ({ memoryId, digest, vector })).sort((a, b) => a.memoryId < b.memoryId ? -1 : 1)),
    putVectors: (apiKeyId, model, made) => Effect.sync(() => {
      for (const one of made) if (entries.get(one.memoryId)?.apiKeyId === apiKeyId) vectors.set(one.memoryId, { ...one, apiKeyId, model })
    }),
    removeVectors: (apiKeyId) => Effect.sync(() => {
      const gone = [...vectors.values()].filter((one) => (apiKeyId === undefined || one.apiKeyId === apiKeyId) && entries.has(one.memoryId))
      for (const { memoryId } of gone) vectors.delete(memoryId)
      return gone.length
    }),
    owners: (after, limit) => Effect.sync(() => [...new Set([...entries.values()].map(({ apiKeyId }) => apiKeyId))].filter((id) => after === null || id > after).sort().slice(0, limit)),
    ping: Effect.void
  })
})

/** What requests and handlers ask. */
export const surface = KeyMemories.layer({ lookUpMs: 1_000 }).pipe(Layer.provideMerge(Layer.merge(MemoryVectors.layer, MemoryReranker.layer)))
