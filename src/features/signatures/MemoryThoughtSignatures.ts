/** `ThoughtSignatures` of a node that is alone. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ThoughtSignatures } from "#src/inference/ports/pastCalls/ThoughtSignatures.ts"
import * as SignatureMemory from "./SignatureMemory.ts"

export const make = Effect.map(Clock.Clock, (clock) => {
  const memory = SignatureMemory.make(() => clock.currentTimeMillisUnsafe())
  return ThoughtSignatures.of({
    remember: (scope, callId, signature) => void memory.put(SignatureMemory.keyOf(scope, callId), signature),
    recall: (scope, callId) => memory.get(SignatureMemory.keyOf(scope, callId))
  })
})

export const layer: Layer.Layer<ThoughtSignatures> = Layer.effect(ThoughtSignatures, make)
