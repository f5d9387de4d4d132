/** Changes of a stored key that keep what others change at the same time, on this node or another. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { KeyStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"

/** Each try that fails is a change of another caller that was stored. */
const mostTries = 100

export const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())

/** Two changes within a millisecond have different moments, by which they are told apart. */
const momentAfter = (seen: string) => Effect.map(now, (at) => at > seen ? at : new Date(Date.parse(seen) + 1).toISOString())

/**
 * Reads the key, changes it and stores it; begins again where another change came in between. Null when there is no such key.
 * `change` answers the key as it shall be; its `updatedAt` is set here.
 */
export const changed = <E, R>(
  store: KeyStore["Service"], id: string, change: (current: ApiKey) => Effect.Effect<ApiKey, E, R>
): Effect.Effect<ApiKey | null, E | StoreError | Refusal.Refusal, R> =>
  Effect.gen(function*() {
    for (let tries = 0; tries < mostTries; tries++) {
      const current = yield* store.get(id)
      if (current === null) return null
      const next: ApiKey = { ...yield* change(current), updatedAt: yield* momentAfter(current.updatedAt) }
      if (yield* store.replace(next, current.updatedAt)) return next
    }
    return yield* Effect.fail(Refusal.conflict("Others keep changing this key: repeat the change"))
  })
