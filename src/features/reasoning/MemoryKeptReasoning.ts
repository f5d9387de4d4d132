/** `KeptReasoning` of a node that is alone. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { KeptReasoning } from "#src/inference/ports/pastCalls/KeptReasoning.ts"
import { ReasoningMemory } from "./ReasoningMemory.ts"

export const make = Effect.map(Clock.Clock, (clock) => {
  const memory = new ReasoningMemory(() => clock.currentTimeMillisUnsafe())
  return KeptReasoning.of({
    remember: (scope, callIds, thought) => void memory.put(memory.keyed(scope, callIds), thought),
    recall: memory.recall, list: memory.list, counts: memory.counts, forget: memory.forget
  })
})

export const layer: Layer.Layer<KeptReasoning> = Layer.effect(KeptReasoning, make)
