/** What is shown of memory: pages of entries, what a conversation would be told, and the state of what chooses it. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { MemoryEntry } from "#schemas/memory/MemoryEntry.ts"
import { memoryOf, type MemorySettings, settingKey } from "#schemas/memory/MemorySettings.ts"
import * as SettingObject from "#src/features/settings/ports/settingObject.ts"
import type { MemoryView } from "./api.ts"
import * as Bounds from "./bounds.ts"
import { KeyMemories } from "./KeyMemories.ts"
import { Memories } from "./Memories.ts"
import { MemoryReranker } from "./models/MemoryReranker.ts"
import * as ModelCalls from "./models/ModelCalls.ts"
import { MemoryStore } from "./ports/MemoryStore.ts"
import { FUSION_K } from "./ranking/rank.ts"
import { Remembered } from "./ranking/Remembered.ts"
import * as VectorIndex from "./vectors/vectorIndex.ts"
import { MemoryVectors } from "./vectors/MemoryVectors.ts"

const PAGE = 50

export const view = ({ tokens: _tokens, ...shown }: MemoryEntry): MemoryView => shown

interface Asked {
  readonly query?: string
  readonly apiKeyId?: string
  readonly sessionId?: string
  readonly strategy?: MemorySettings["memoryStrategy"]
  readonly maxTokens?: number
}

interface Page {
  readonly page?: number
  readonly limit?: number
  readonly offset?: number
}

export const make = Effect.gen(function*() {
  const known = yield* KeyMemories
  const memories = yield* Memories
  const store = yield* MemoryStore
  const settings = yield* SettingObject.make(settingKey, memoryOf)
  const vectors = yield* MemoryVectors
  const index = yield* VectorIndex.make
  const ownerOf = yield* ModelCalls.owners
  const reranker = yield* MemoryReranker

  const list = Effect.fnUntraced(function*({ apiKeyId: given, limit = PAGE, offset, page = 1, ...filter }: Parameters<typeof store.list>[0] & Page) {
    const apiKeyId = yield* memories.ownerOf(given)
    const from = offset ?? (page - 1) * limit
    const { entries, total } = yield* store.list({ ...filter, apiKeyId }, limit, from)
    const { byType, tokens, total: all } = yield* store.figures({ apiKeyId })
    const { hits, misses } = known.counts
    return {
      data: entries.map(view), total, page: Math.floor(from / limit) + 1, limit, totalPages: Math.ceil(total / limit),
      stats: { total: all, byType, tokensUsed: tokens, hits, misses, hitRate: hits + misses === 0 ? 0 : hits / (hits + misses) }
    }
  })

  const scoresOf = Effect.fnUntraced(function*(apiKeyId: string, query: string, entries: ReadonlyArray<MemoryEntry>) {
    const known = entries.length < 2 ? null : reranker.peek(apiKeyId, query, entries)
    if (known !== undefined) return known
    const owner = yield* ownerOf(apiKeyId)
    return owner === null ? null : yield* reranker.scoresOf(owner, query, entries)
  })

  const preview = Effect.fnUntraced(function*({ apiKeyId: given, maxTokens, query = "", sessionId = "", strategy }: Asked) {
    const apiKeyId = (yield* memories.ownerOf(given)) ?? ""
    const stored = yield* settings.get
    const chosen: MemorySettings = { ...stored, memoryStrategy: strategy ?? stored.memoryStrategy, memoryMaxTokens: maxTokens ?? stored.memoryMaxTokens }
    const entries = (yield* known.read(apiKeyId)) ?? new Remembered([])
    const now = yield* Clock.currentTimeMillis
    const asked = query !== "" && entries.wantsVector(sessionId, chosen, now) ? yield* index.asked(apiKeyId, query) : null
    const scores = query !== "" && reranker.model() !== null && entries.isChosen(sessionId, chosen, now)
      ? yield* scoresOf(apiKeyId, query, entries.candidates(sessionId, query, chosen, now, asked))
      : null
    const { ranked, text, tokens } = entries.choose(sessionId, query, chosen, now, { asked, scores })
    return {
      strategy: chosen.memoryStrategy, maxTokens: chosen.memoryMaxTokens, totalTokens: tokens, count: ranked.filter(({ fits }) => fits).length, text,
      memories: ranked.map(({ entry, fits, score }, i) => ({ memory: view(entry), rank: i + 1, score, tokens: entry.tokens, included: fits }))
    }
  })

  const health = Effect.gen(function*() {
    const began = yield* Clock.currentTimeMillis
    const failure = yield* Effect.match(store.ping, { onFailure: () => "The record store cannot be reached", onSuccess: () => null })
    const { last, model } = vectors.status()
    const part = (hasFailed: boolean) => ({ status: model === null ? "not_used" as const : hasFailed ? "failed" as const : "ok" as const })
    return {
      working: failure === null, latencyMs: (yield* Clock.currentTimeMillis) - began, ...(failure === null ? {} : { error: failure }),
      database: { status: failure === null ? "ok" as const : "failed" as const }, embeddings: part(last === "failed"), vectorIndex: part(failure !== null)
    }
  })

  const engineStatus = Effect.map(settings.get, ({ embeddingSource, memoryEnabled, memoryMaxTokens, memoryRetentionDays, memoryStrategy, rerankEnabled }) => ({
    enabled: memoryEnabled, strategy: memoryStrategy, maxTokens: memoryMaxTokens, retentionDays: memoryRetentionDays, relevance: "bm25" as const,
    fusion: { method: "reciprocal-rank" as const, k: FUSION_K }, embedding: index.status(embeddingSource),
    vectorStore: { type: "auto" as const, active: vectors.model() !== null }, rerank: { enabled: rerankEnabled, ...reranker.status() },
    held: known.held(), bounds: { entries: Bounds.ENTRIES, characters: Bounds.CHARACTERS }
  }))

  return { list, preview, health, engineStatus }
})
