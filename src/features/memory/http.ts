import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { MemoryEntry } from "#schemas/memory/MemoryEntry.ts"
import { memoryOf, type MemorySettings, settingKey } from "#schemas/memory/MemorySettings.ts"
import { OwnCalls } from "#src/inference/ports/OwnCalls.ts"
import * as SettingObject from "#src/features/settings/ports/settingObject.ts"
import { refuseInert } from "#src/management/acting.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import * as Acting from "./acting.ts"
import { MemoryGroup, type MemoryView } from "./api.ts"
import * as Bounds from "./bounds.ts"
import { KeyMemories } from "./KeyMemories.ts"
import { Memories } from "./Memories.ts"
import { MemoryReranker } from "./models/MemoryReranker.ts"
import * as ModelCalls from "./models/ModelCalls.ts"
import * as Summaries from "./models/Summaries.ts"
import { MemoryStore } from "./ports/MemoryStore.ts"
import { FUSION_K } from "./ranking/rank.ts"
import { Remembered } from "./ranking/Remembered.ts"
import * as VectorIndex from "./vectors/vectorIndex.ts"
import { MemoryVectors } from "./vectors/MemoryVectors.ts"

const PAGE = 50

const view = ({ tokens: _tokens, ...shown }: MemoryEntry): MemoryView => shown
const settingsView = (settings: MemorySettings) => ({ ...settings, ...Acting.neutral })
const success = { success: true as const }

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

export const layer = HttpApiBuilder.group(Surface.make(MemoryGroup), "memory", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const known = yield* KeyMemories
  const memories = yield* Memories
  const store = yield* MemoryStore
  const settings = yield* SettingObject.make(settingKey, memoryOf)
  const vectors = yield* MemoryVectors
  const index = yield* VectorIndex.make
  const ownerOf = yield* ModelCalls.owners
  const reranker = yield* MemoryReranker
  const summarize = yield* Summaries.make
  const { ask } = yield* OwnCalls
  vectors.begin(ask)
  reranker.begin(ask)

  /** Lengths only: what is remembered is private. */
  const note = (action: string, { apiKeyId, content, id, type }: MemoryEntry) =>
    audit.note({ action, target: id, resourceType: "memory", details: { apiKeyId, type, characters: content.length } })

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

  const mayRank = ({ rerankEnabled, rerankModel }: MemorySettings): Effect.Effect<void, Refusal.Refusal> => {
    if (!index.isModel(rerankModel)) return Effect.fail(Refusal.invalidField("rerankModel", "Expected auto, an alias, or provider/model"))
    return rerankEnabled && rerankModel === "auto" && reranker.first() === null
      ? Effect.fail(Refusal.invalidField("rerankModel", "No rerank model can be called: connect a provider that has one, or name a model"))
      : Effect.void
  }

  return handlers.handleAll({
    list: ({ query }) => answer(list(query)),
    create: ({ payload }) => answer(memories.put(payload).pipe(Effect.tap((entry) => note("memory.stored", entry)), Effect.map(({ id }) => ({ ...success, id })))),
    clear: ({ query: { apiKeyId, before, type } }) => answer(Effect.gen(function*() {
      const deletedCount = yield* memories.clear({ apiKeyId, type, before: before === undefined ? undefined : new Date(Date.parse(before)).toISOString() })
      yield* audit.note({ action: "memory.cleared", target: apiKeyId, resourceType: "memory", details: { deleted: deletedCount, type: type ?? null } })
      return { ...success, deletedCount }
    })),
    health: () => health,
    engineStatus: () => engineStatus,
    preview: ({ payload }) => answer(preview(payload)),
    embeddingProviders: () => Effect.map(settings.get, ({ embeddingSource }) => ({ embeddingSource, providers: index.providers() })),
    reindex: ({ payload }) => answer(Effect.flatMap(memories.ownerOf(payload.apiKeyId), index.reindex)),
    summarize: ({ payload }) => answer(Effect.flatMap(memories.ownerOf(payload.apiKeyId), (apiKeyId) => summarize(apiKeyId ?? "", payload))),
    get: ({ params }) => answer(Effect.map(memories.find(params.id), view)),
    update: ({ params, payload }) => answer(memories.change(params.id, payload).pipe(Effect.tap((entry) => note("memory.updated", entry)), Effect.map(view))),
    remove: ({ params }) => answer(memories.remove(params.id).pipe(Effect.tap((entry) => note("memory.deleted", entry)), Effect.as(success))),
    settings: () => Effect.map(settings.get, settingsView),
    changeSettings: ({ payload }) => answer(Effect.gen(function*() {
      yield* refuseInert(Acting.memory, payload)
      const { embeddingSource } = payload
      if (embeddingSource !== undefined && !index.isModel(embeddingSource)) {
        return yield* Effect.fail(Refusal.invalidField("embeddingSource", "Expected auto, an alias, or provider/model: GET /api/memory/embedding-providers lists models"))
      }
      const { vectorStore: _vectors, ...change } = payload
      yield* mayRank({ ...yield* settings.get, ...change })
      return settingsView(yield* settings.put(change))
    }))
  })
}))
