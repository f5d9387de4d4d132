/** In whose name the gateway asks itself for work that a key left with it: batches, responses in the background. */
import * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import { EnvironmentKeys } from "#src/inference/ports/EnvironmentKeys.ts"
import type { ActsAs } from "#src/platform/server/Exchange.ts"

/** No key has this hash. */
const gone: ActsAs = { keyHash: "" }

/** Answers by the key's id, null for a caller without one; a key that is gone is a wrong key. */
export const make = Effect.gen(function*() {
  const environmentKeys = yield* EnvironmentKeys
  const keys = yield* KeyStore
  return (keyId: string | null): Effect.Effect<ActsAs, StoreError> => {
    if (keyId === null) return Effect.succeed({ keyHash: null })
    for (const [keyHash, key] of environmentKeys) if (key.id === keyId) return Effect.succeed({ keyHash })
    return Effect.map(keys.get(keyId), (key) => key === null ? gone : { keyHash: key.keyHash })
  }
})
