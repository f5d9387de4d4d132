/** The setting `memory`: whether models are told what is remembered for a key, how much of it, and what is chosen. */
import * as Schema from "effect/Schema"

export const MemorySettings = Schema.Struct({
  memoryEnabled: Schema.Boolean,
  /** Tokens of what is put into one request, estimated; 0 = nothing. */
  memoryMaxTokens: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 16_000 })),
  /** Days since its last change for which an entry is said; 0 = for ever. */
  memoryRetentionDays: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3_650 })),
  /** What is chosen where not all fits: the newest, what has to do with the conversation, or both in one order. */
  memoryStrategy: Schema.Literals(["recent", "semantic", "hybrid"]),
  /** The model that embeds entries and questions, as `/v1/embeddings` takes it; `auto` = entries are compared by words alone. */
  embeddingSource: Schema.String.check(Schema.isBetweenLength(1, 300)),
  /** Whether a model ranks the entries that were found. */
  rerankEnabled: Schema.Boolean,
  /** The model that ranks, as `/v1/rerank` takes it; `auto` = the first rerank model that can be called. */
  rerankModel: Schema.String.check(Schema.isBetweenLength(1, 300))
})
export interface MemorySettings extends Schema.Schema.Type<typeof MemorySettings> {}

/** Under this name among the settings. */
export const settingKey = "memory"

export const memoryDefaults: MemorySettings = {
  memoryEnabled: false, memoryMaxTokens: 2_000, memoryRetentionDays: 30, memoryStrategy: "hybrid", embeddingSource: "auto", rerankEnabled: false, rerankModel: "auto"
}

const isSettings = Schema.is(MemorySettings)

/** The effective settings; defaults for what is no longer allowed. */
export const memoryOf = (settings: ReadonlyMap<string, unknown>): MemorySettings => {
  const stored = settings.get(settingKey)
  const whole: unknown = typeof stored === "object" && stored !== null ? { ...memoryDefaults, ...stored } : memoryDefaults
  return isSettings(whole) ? whole : memoryDefaults
}
