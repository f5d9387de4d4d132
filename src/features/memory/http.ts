import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { answer } from "#src/management/answer.ts"
import * as Surface from "#src/management/Surface.ts"
import { MemoryGroup } from "./api.ts"
import { Memories } from "./Memories.ts"
import * as Summaries from "./models/Summaries.ts"
import * as Reads from "./reads.ts"
import * as Tuning from "./tuning.ts"
import * as VectorIndex from "./vectors/vectorIndex.ts"

const success = { success: true as const }

export const layer = HttpApiBuilder.group(Surface.make(MemoryGroup), "memory", Effect.fn(function*(handlers) {
  const index = yield* VectorIndex.make
  const memories = yield* Memories
  const reads = yield* Reads.make
  const summarize = yield* Summaries.make
  const tuning = yield* Tuning.make

  return handlers.handleAll({
    list: ({ query }) => answer(reads.list(query)),
    create: ({ payload }) => answer(Effect.map(memories.put(payload), ({ id }) => ({ ...success, id }))),
    clear: ({ query }) => answer(Effect.map(memories.clear(query), (deletedCount) => ({ ...success, deletedCount }))),
    health: () => reads.health,
    engineStatus: () => reads.engineStatus,
    preview: ({ payload }) => answer(reads.preview(payload)),
    embeddingProviders: () => tuning.embeddingProviders,
    reindex: ({ payload }) => answer(Effect.flatMap(memories.ownerOf(payload.apiKeyId), index.reindex)),
    summarize: ({ payload }) => answer(Effect.flatMap(memories.ownerOf(payload.apiKeyId), (apiKeyId) => summarize(apiKeyId ?? "", payload))),
    get: ({ params }) => answer(Effect.map(memories.find(params.id), Reads.view)),
    update: ({ params, payload }) => answer(Effect.map(memories.change(params.id, payload), Reads.view)),
    remove: ({ params }) => answer(Effect.as(memories.remove(params.id), success)),
    settings: () => tuning.get,
    changeSettings: ({ payload }) => answer(tuning.change(payload))
  })
}))
