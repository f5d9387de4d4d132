import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { clearable, Document, integer, isoTime, partial, queryInteger, Success, text } from "#schemas/api/fields.ts"
import { MemoryEntry, MemoryType } from "#schemas/memory/MemoryEntry.ts"
import { MemorySettings } from "#schemas/memory/MemorySettings.ts"
import * as Bounds from "./bounds.ts"

const opt = Schema.optionalKey

const { tokens: _tokens, ...shown } = MemoryEntry.fields
export const MemoryView = Schema.Struct(shown).annotate({ identifier: "Memory" })
export type MemoryView = typeof MemoryView.Type

const name = text(0, 200)
const key = text(1, 200)
const content = text(1, Bounds.CONTENT)

export const NewMemory = Schema.Struct({
  key, content, type: opt(MemoryType), sessionId: opt(name),
  /** Absent or empty: what callers without an API key are told. */
  apiKeyId: opt(name),
  metadata: opt(Document), expiresAt: clearable(isoTime)
})
export type NewMemory = typeof NewMemory.Type

export const MemoryChange = Schema.Struct({ type: opt(MemoryType), key: opt(key), content: opt(content), metadata: opt(Document) })
export type MemoryChange = typeof MemoryChange.Type

const List = Schema.Struct({
  data: Schema.Array(MemoryView),
  total: Schema.Int, page: Schema.Int, limit: Schema.Int, totalPages: Schema.Int,
  /** Of all entries of the given API key, or of all. */
  stats: Schema.Struct({
    total: Schema.Int,
    byType: Schema.Struct({ factual: Schema.Int, episodic: Schema.Int, semantic: Schema.Int, procedural: Schema.Int }),
    /** What saying all of them would cost, estimated. */
    tokensUsed: Schema.Int,
    /** Conversations that this process told something since its start, and those for which there was nothing. */
    hits: Schema.Int, misses: Schema.Int,
    /** Between 0 and 1; 0 before the first. */
    hitRate: Schema.Finite
  })
})

const Preview = Schema.Struct({
  strategy: MemorySettings.fields.memoryStrategy, maxTokens: Schema.Int,
  /** Of the text, estimated. */
  totalTokens: Schema.Int,
  /** Entries in the text. */
  count: Schema.Int,
  /** In the order in which they are chosen; not included: no room was left. */
  memories: Schema.Array(Schema.Struct({ memory: MemoryView, rank: Schema.Int, score: Schema.Finite, tokens: Schema.Int, included: Schema.Boolean })),
  /** Null = nothing is said. */
  text: Schema.NullOr(Schema.String)
})

const Part = Schema.Struct({ status: Schema.Literals(["ok", "failed", "not_used"]) })
const Health = Schema.Struct({ working: Schema.Boolean, latencyMs: Schema.Finite, error: opt(Schema.String), database: Part, embeddings: Part, vectorIndex: Part })

const EngineStatus = Schema.Struct({
  enabled: Schema.Boolean, strategy: MemorySettings.fields.memoryStrategy, maxTokens: Schema.Int, retentionDays: Schema.Int,
  /** How entries are compared with a conversation: by shared words, weighed as BM25 does. */
  relevance: Schema.Literal("bm25"),
  fusion: Schema.Struct({ method: Schema.Literal("reciprocal-rank"), k: Schema.Int }),
  /** Of this process: API keys whose entries wait for vectors, and those that make no calls for a moment after one failed. */
  embedding: Schema.Struct({ source: Schema.String, active: Schema.Boolean, queued: Schema.Int, paused: Schema.Int, last: Schema.NullOr(Schema.Literals(["ok", "failed"])) }),
  vectorStore: Schema.Struct({ type: Schema.Literal("auto"), active: Schema.Boolean }),
  rerank: Schema.Struct({ enabled: Schema.Boolean, model: Schema.NullOr(Schema.String), paused: Schema.Int, last: Schema.NullOr(Schema.Literals(["ok", "failed"])) }),
  /** What this process holds. */
  held: Schema.Struct({ keys: Schema.Int, characters: Schema.Int }),
  /** Of one API key. */
  bounds: Schema.Struct({ entries: Schema.Int, characters: Schema.Int })
})

/** Only their neutral values are taken. */
const unbuilt = { vectorStore: opt(Schema.Json) }
export const SettingsChange = Schema.Struct({ ...partial(MemorySettings).fields, ...unbuilt })
const SettingsView = Schema.Struct({ ...MemorySettings.fields, ...unbuilt })

const EmbeddingProviders = Schema.Struct({
  /** The setting: `auto`, or the model that embeds. */
  embeddingSource: Schema.String,
  /** Embedding models that can be called, by provider. */
  providers: Schema.Array(Schema.Struct({ id: Schema.String, name: Schema.String, models: Schema.Array(Schema.Struct({ id: Schema.String, name: Schema.String })) }))
})

const Reindexed = Schema.Struct({
  ...Success.fields,
  model: Schema.String,
  /** Vectors that went. */
  removed: Schema.Int,
  /** API keys whose entries are embedded again, in the background. */
  queued: Schema.Int
})

export const SummaryRequest = Schema.Struct({
  /** The model that writes, as `/v1/chat/completions` takes it. */
  model: text(1, 300),
  apiKeyId: opt(name), sessionId: opt(name), type: opt(MemoryType), before: opt(isoTime),
  /** Counts only: nothing is called or changed. */
  dryRun: opt(Schema.Boolean)
})
export type SummaryRequest = typeof SummaryRequest.Type

const Summarized = Schema.Struct({
  ...Success.fields,
  /** Of the new entry; null where there is none. */
  id: Schema.NullOr(Schema.String),
  summarized: Schema.Int,
  /** Entries that match and were left for a further call. */
  remaining: Schema.Int,
  tokensBefore: Schema.Int, tokensAfter: Schema.Int, tokensSaved: Schema.Int
})

const params = { id: Schema.String }
const filter = { apiKeyId: opt(name), type: opt(MemoryType), sessionId: opt(name) }

/** What models are told of earlier conversations, by API key. */
export const MemoryGroup = HttpApiGroup.make("memory").add(
  HttpApiEndpoint.get("list", "/api/memory", {
    query: { ...filter, q: opt(key), page: opt(queryInteger(1, 1_000_000)), limit: opt(queryInteger(1, 200)), offset: opt(queryInteger(0, 1_000_000)) }, success: List
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Entries, the newest change first; offset replaces page"),
  HttpApiEndpoint.post("create", "/api/memory", { payload: NewMemory, success: Schema.Struct({ ...Success.fields, id: Schema.String }).pipe(HttpApiSchema.status(201)) })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Add an entry; it takes the place of the one of its API key with its key"),
  HttpApiEndpoint.delete("clear", "/api/memory", {
    query: { apiKeyId: name, type: opt(MemoryType), before: opt(isoTime) }, success: Schema.Struct({ ...Success.fields, deletedCount: Schema.Int })
  }).annotate(Access, writes).annotate(OpenApi.Summary, "Remove the entries of an API key: all, those of a type, those last changed before a time"),
  HttpApiEndpoint.get("health", "/api/memory/health", { success: Health })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Whether entries can be read, and how fast"),
  HttpApiEndpoint.get("engineStatus", "/api/memory/engine-status", { success: EngineStatus })
    .annotate(Access, reads).annotate(OpenApi.Summary, "How entries are chosen"),
  HttpApiEndpoint.post("preview", "/api/memory/retrieve-preview", {
    payload: Schema.Struct({
      query: opt(text(0, 2_000)), apiKeyId: opt(name), sessionId: opt(name), strategy: opt(MemorySettings.fields.memoryStrategy), maxTokens: opt(integer(0, 16_000))
    }),
    success: Preview
  }).annotate(Access, writes).annotate(OpenApi.Summary, "What a conversation would be told, and why"),
  HttpApiEndpoint.get("embeddingProviders", "/api/memory/embedding-providers", { success: EmbeddingProviders })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Embedding models that can be called"),
  HttpApiEndpoint.post("reindex", "/api/memory/reindex", { payload: Schema.Struct({ apiKeyId: opt(name) }), success: Reindexed })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Embed the entries of an API key, or all, again"),
  HttpApiEndpoint.post("summarize", "/api/memory/summarize", { payload: SummaryRequest, success: Summarized })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Let a model make one entry of several of an API key"),
  HttpApiEndpoint.get("get", "/api/memory/:id", { params, success: MemoryView }).annotate(Access, reads).annotate(OpenApi.Summary, "One entry"),
  HttpApiEndpoint.put("update", "/api/memory/:id", { params, payload: MemoryChange, success: MemoryView })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Change the given fields of an entry"),
  HttpApiEndpoint.delete("remove", "/api/memory/:id", { params, success: Success })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Remove an entry"),
  HttpApiEndpoint.get("settings", "/api/settings/memory", { success: SettingsView })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Whether models are told what is remembered, and how much"),
  HttpApiEndpoint.put("changeSettings", "/api/settings/memory", { payload: SettingsChange, success: SettingsView })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Change the given fields of these settings")
).annotateMerge(OpenApi.annotations({ title: "Memory", description: "What models are told of earlier conversations, by API key." }))
