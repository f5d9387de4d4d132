/** `ThoughtSignatures` of a node that is alone. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ThoughtSignatures } from "#src/inference/ports/ThoughtSignatures.ts"
import { keyOf, SignatureMemory } from "./SignatureMemory.ts"

export const make = Effect.map(Clock.Clock, (clock) => {
  const memory = new SignatureMemory(() => clock.currentTimeMillisUnsafe())
  return ThoughtSignatures.of({
    remember: (scope, callId, signature) => void memory.put(keyOf(scope, callId), signature),
    recall: (scope, callId) => memory.get(keyOf(scope, callId))
  })
})

export const layer: Layer.Layer<ThoughtSignatures> = Layer.effect(ThoughtSignatures, make)
