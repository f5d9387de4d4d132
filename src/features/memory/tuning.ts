/** The settings of memory: what they must fulfil before they are stored. */
import * as Effect from "effect/Effect"
import * as Refusal from "#schemas/api/Refusal.ts"
import { memoryOf, type MemorySettings, settingKey } from "#schemas/memory/MemorySettings.ts"
import * as SettingObject from "#src/features/settings/ports/settingObject.ts"
import { refuseInert } from "#src/management/acting.ts"
import * as Acting from "./acting.ts"
import type { SettingsChange } from "./api.ts"
import { MemoryReranker } from "./models/MemoryReranker.ts"
import * as VectorIndex from "./vectors/vectorIndex.ts"

const view = (settings: MemorySettings) => ({ ...settings, ...Acting.neutral })

export const make = Effect.gen(function*() {
  const settings = yield* SettingObject.make(settingKey, memoryOf)
  const index = yield* VectorIndex.make
  const reranker = yield* MemoryReranker

  const mayRank = ({ rerankEnabled, rerankModel }: MemorySettings): Effect.Effect<void, Refusal.Refusal> => {
    if (!index.isModel(rerankModel)) return Effect.fail(Refusal.invalidField("rerankModel", "Expected auto, an alias, or provider/model"))
    return rerankEnabled && rerankModel === "auto" && reranker.first() === null
      ? Effect.fail(Refusal.invalidField("rerankModel", "No rerank model can be called: connect a provider that has one, or name a model"))
      : Effect.void
  }

  const change = Effect.fn("MemorySettings.change")(function*(payload: typeof SettingsChange.Type) {
    yield* refuseInert(Acting.memory, payload)
    const { embeddingSource } = payload
    if (embeddingSource !== undefined && !index.isModel(embeddingSource)) {
      return yield* Effect.fail(Refusal.invalidField("embeddingSource", "Expected auto, an alias, or provider/model: GET /api/memory/embedding-providers lists models"))
    }
    const { vectorStore: _vectors, ...change } = payload
    yield* mayRank({ ...yield* settings.get, ...change })
    return view(yield* settings.put(change))
  })

  return {
    get: Effect.map(settings.get, view), change,
    embeddingProviders: Effect.map(settings.get, ({ embeddingSource }) => ({ embeddingSource, providers: index.providers() }))
  }
})
