/** The Keys port: a bounded memory of looked-up keys in front of the key store (supplement 3.2, validation cache). */
import * as Crypto from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import { Keys } from "#actors/ports/Keys.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"

/** Keys remembered at once. */
const capacity = 10_000
/** A key is read again after this time, so that a change made elsewhere heals without a message (ms). */
const freshMs = 60_000
/** How long a wrong key stays wrong without asking the store again (ms). */
const negativeMs = 5_000
/** lastUsedAt is written at most this often per key (supplement 3.1) (ms). */
const touchEveryMs = 300_000

interface Entry {
  readonly key: ApiKey | null
  readonly until: number
}

export const make = Effect.gen(function*() {
  const store = yield* KeyStore
  const clock = yield* Clock.Clock
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const entries = new Map<string, Entry>()
  const touched = new Map<string, number>()
  /** Grows with each `forget`, so that a look-up that began before it cannot bring the old key back. */
  let epoch = 0
  const now = () => clock.currentTimeMillisUnsafe()

  const remember = (keyHash: string, key: ApiKey | null): void => {
    if (entries.size >= capacity) entries.delete(entries.keys().next().value as string)
    entries.set(keyHash, { key, until: now() + (key === null ? negativeMs : freshMs) })
  }

  return Keys.of({
    hash: (presented) => Crypto.hash("sha256", presented, "hex"),
    peek: (keyHash) => {
      const entry = entries.get(keyHash)
      if (entry === undefined) return undefined
      if (entry.until > now()) return entry.key
      entries.delete(keyHash)
      return undefined
    },
    find: (keyHash) => Effect.suspend(() => {
      const began = epoch
      return Effect.tap(store.findByHash(keyHash), (key) => Effect.sync(() => {
        if (began === epoch) remember(keyHash, key)
      }))
    }),
    touch: (key) => {
      const at = now()
      const last = touched.get(key.id)
      if (last !== undefined && at - last < touchEveryMs) return
      if (touched.size >= capacity) touched.clear()
      touched.set(key.id, at)
      fork(Effect.ignore(store.touch(key.id, new Date(at).toISOString())))
    },
    forget: (id) => {
      epoch++
      touched.delete(id)
      for (const [keyHash, entry] of entries) if (entry.key === null || entry.key.id === id) entries.delete(keyHash)
    }
  })
})

export const layer = Layer.effect(Keys, make)
