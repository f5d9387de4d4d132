/** Vectors and ranks are asked of the gateway's own models, which answer once its routes stand. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { MemoryVectors } from "#src/features/memory/vectors/MemoryVectors.ts"
import { OwnCalls } from "#src/inference/ports/OwnCalls.ts"
import { MemoryReranker } from "./MemoryReranker.ts"

export const layer = Layer.effectDiscard(Effect.gen(function*() {
  const { ask } = yield* OwnCalls
  const vectors = yield* MemoryVectors
  const reranker = yield* MemoryReranker
  vectors.begin(ask)
  reranker.begin(ask)
}))
