/** The Keys port: a bounded memory of looked-up keys in front of the key store; the wait for a look-up is bounded. */
import * as Crypto from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import { ChangeFeed } from "#actors/ports/ChangeFeed.ts"
import { Keys } from "#actors/ports/Keys.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as LookUps from "#src/platform/structures/LookUps.ts"

/** Keys remembered at once. */
const capacity = 10_000
/** A key is read again after this time, whatever the change feed says (ms). */
export const FRESH_MS = 60_000
/** A key in use is read again in the background this long before that, so that no request waits for it (ms). */
const aheadMs = 15_000
/**
 * While the store is unavailable, a valid key stays valid for this long after its time (ms); it cannot be revoked in that time
 * either.
 */
export const AWAY_MS = 600_000
/** How often an absent store is asked again (ms). */
const againMs = 5_000
/** How long an invalid key is refused without a new look-up in the store (ms). */
const negativeMs = 5_000
/** lastUsedAt is written at most this often per key (ms). */
const touchEveryMs = 300_000

export interface Options {
  /** Longest wait of a request for a key that is not in memory, ms. */
  readonly lookUpMs: number
}

interface Entry {
  readonly key: ApiKey | null
  readonly until: number
  /** A read ahead of time was begun, and its answer has not come (yet). */
  asked: boolean
  /** When the store may be asked again. */
  askAgainAt: number
}

export const make = Effect.fnUntraced(function*(options: Options) {
  const store = yield* KeyStore
  const feed = yield* ChangeFeed
  const clock = yield* Clock.Clock
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const lookUps = yield* LookUps.make<ApiKey | null>({ name: "Keys", withinMs: options.lookUpMs })
  const entries = new Map<string, Entry>()
  const touched = new Map<string, number>()
  /** Grows with each `forget`, so that a look-up that began before it cannot bring the old key back. */
  let epoch = 0
  const now = () => clock.currentTimeMillisUnsafe()

  const remember = (keyHash: string, key: ApiKey | null): void => {
    if (entries.size >= capacity) entries.delete(entries.keys().next().value as string)
    const until = now() + (key === null ? negativeMs : FRESH_MS)
    entries.set(keyHash, { key, until, asked: false, askAgainAt: until - aheadMs })
  }

  const listeners = new Set<(id: string | null) => void>()
  const drop = (id: string): void => {
    epoch++
    touched.delete(id)
    for (const [keyHash, entry] of entries) if (entry.key === null || entry.key.id === id || entry.key.issuerId === id) entries.delete(keyHash)
    for (const listener of listeners) listener(id)
  }

  yield* feed.hear(({ changes }) => Effect.sync(() => {
    if (changes === null) {
      epoch++
      entries.clear()
      for (const listener of listeners) listener(null)
    } else for (const { id, kind } of changes) if (kind === "key") drop(id)
  }))

  /** With its issuer, where it has one: the issuer's end is the key's. */
  const fetched = (keyHash: string): Effect.Effect<ApiKey | null, StoreError> => Effect.flatMap(store.findByHash(keyHash), (key) =>
    key === null || key.issuerId === null ? Effect.succeed(key) : Effect.map(store.get(key.issuerId), (issuer) => ({ ...key, issuer })))

  const read = (keyHash: string): Effect.Effect<ApiKey | null, StoreError> => Effect.suspend(() => {
    const began = epoch
    // A request after a change never joins a look-up that began before it.
    return lookUps.ask(`${began}:${keyHash}`, Effect.tap(fetched(keyHash), (key) => Effect.sync(() => {
      if (began === epoch) remember(keyHash, key)
    })))
  })

  /** Reads a valid key again in the background. */
  const renew = (keyHash: string, entry: Entry, at: number): void => {
    entry.asked = true
    entry.askAgainAt = at + againMs
    fork(Effect.ignore(read(keyHash)))
  }

  return Keys.of({
    hash: (presented) => Crypto.hash("sha256", presented, "hex"),
    peek: (keyHash) => {
      const entry = entries.get(keyHash)
      if (entry === undefined) return undefined
      const at = now()
      if (entry.key !== null && at >= entry.askAgainAt && at < entry.until + AWAY_MS && (entry.asked || at < entry.until)) renew(keyHash, entry, at)
      if (entry.until > at || (entry.asked && at < entry.until + AWAY_MS)) return entry.key
      return undefined
    },
    find: (keyHash) => read(keyHash).pipe(Effect.catch((error) => {
      const entry = entries.get(keyHash)
      if (error.reason !== "unavailable" || entry === undefined || entry.key === null || now() >= entry.until + AWAY_MS) return Effect.fail(error)
      entry.asked = true
      entry.askAgainAt = now() + againMs
      return Effect.succeed(entry.key)
    })),
    touch: (key) => {
      const at = now()
      const last = touched.get(key.id)
      if (last !== undefined && at - last < touchEveryMs) return
      if (touched.size >= capacity) touched.clear()
      touched.set(key.id, at)
      fork(Effect.ignore(store.touch(key.id, new Date(at).toISOString())))
    },
    forget: (id) => {
      drop(id)
      feed.announce()
    },
    onForget: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    }
  })
})

export const layer = (options: Options) => Layer.effect(Keys, make(options))
