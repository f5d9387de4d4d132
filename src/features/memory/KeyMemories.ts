/**
 * What is remembered for each API key, in memory: a bounded number of keys, and of characters. A change on any node makes it read the
 * key's entries again; a key without entries is known as such, so that its requests read nothing. Where the store does not answer, a
 * request goes on without, and the store is asked again later.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ChangeFeed } from "#actors/ports/ChangeFeed.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { type MemorySettings, memoryOf } from "#schemas/memory/MemorySettings.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"
import * as LookUps from "#src/platform/structures/LookUps.ts"
import { ENTRIES } from "./bounds.ts"
import { MemoryStore } from "./ports/MemoryStore.ts"
import { Remembered } from "./ranking/Remembered.ts"
import { MemoryVectors } from "./vectors/MemoryVectors.ts"

/** Keys that are known at once, most of them as keys without entries. */
const KEYS = 10_000
/** Characters of entries that are held at once. */
const CHARACTERS = 32_000_000
/** Longest wait of a request for its key's entries, ms. */
export const WAIT_MS = 250
/** After a failure, requests of the key go on without for this long, ms. */
export const AGAIN_MS = 5_000
/** Between two lines of the log about failures, ms. */
const LOG_EVERY_MS = 60_000

/** Null = there are none. `unread`: the store did not answer in time. */
export type Found = Remembered | null | "unread"

interface Known {
  readonly entries: Found
  /** ms since the epoch. */
  readonly until: number
}

export interface Counts {
  /** Requests that were told something, and those for which there was nothing. */
  hits: number
  misses: number
  /** Requests that went on without, because the entries could not be read. */
  failed: number
}

export class KeyMemories extends Context.Service<KeyMemories, {
  /** Null while nothing is put into requests; made once per configuration. */
  readonly settings: () => MemorySettings | null
  /** Undefined when the entries must be read. */
  readonly peek: (apiKeyId: string) => Found | undefined
  /** Never fails, and waits for a bounded time. */
  readonly find: (apiKeyId: string) => Effect.Effect<Found>
  /** As the store has them now. */
  readonly read: (apiKeyId: string) => Effect.Effect<Remembered | null, StoreError>
  /** The key's entries were changed here: the other nodes are notified. */
  readonly changed: (apiKeyId: string) => void
  /** Entries of any keys may be gone. */
  readonly forgetAll: () => void
  /** Of this process since its start. */
  readonly counts: Counts
  readonly held: () => { readonly keys: number; readonly characters: number }
}>()("gateway/features/memory/KeyMemories") {}

export interface Options {
  /** Longest wait of a request for a look-up, ms. */
  readonly lookUpMs: number
}

export const make = Effect.fnUntraced(function*({ lookUpMs }: Options) {
  const clock = yield* Clock.Clock
  const configuration = yield* Configuration
  const feed = yield* ChangeFeed
  const store = yield* MemoryStore
  const vectors = yield* MemoryVectors
  const lookUps = yield* LookUps.make<Remembered | null>({ name: "KeyMemories", withinMs: Math.min(lookUpMs, WAIT_MS) })
  /** Oldest first. */
  const known = new Map<string, Known>()
  const counts: Counts = { hits: 0, misses: 0, failed: 0 }
  let characters = 0
  /** Grows with each change, so that what was read before it is not kept. */
  let epoch = 0
  let settings: MemorySettings | null | undefined
  /** Of the vectors that are held. */
  let model = vectors.model()
  /** Since the last line of the log. */
  let failures = 0
  let quietUntil = Number.NEGATIVE_INFINITY
  const now = () => clock.currentTimeMillisUnsafe()

  const weightOf = (entries: Found | undefined): number => entries instanceof Remembered ? entries.characters : 0
  const forget = (apiKeyId: string): void => {
    characters -= weightOf(known.get(apiKeyId)?.entries)
    known.delete(apiKeyId)
  }
  const keep = (apiKeyId: string, entries: Found, until: number): void => {
    forget(apiKeyId)
    known.set(apiKeyId, { entries, until })
    characters += weightOf(entries)
    for (const oldest of known.keys()) {
      if ((known.size <= KEYS && characters <= CHARACTERS) || oldest === apiKeyId) return
      forget(oldest)
    }
  }

  const forgetAll = (): void => {
    epoch++
    known.clear()
    characters = 0
  }

  yield* feed.hear(({ changes }) => Effect.sync(() => {
    if (changes === null) return forgetAll()
    for (const { id, kind } of changes) {
      if (kind !== "memory") continue
      epoch++
      forget(id)
    }
  }))
  yield* Effect.acquireRelease(
    Effect.sync(() => configuration.onChange(() => {
      settings = undefined
      if (model === vectors.model()) return
      model = vectors.model()
      forgetAll()
    })),
    (quiet) => Effect.sync(quiet)
  )

  const read = (apiKeyId: string): Effect.Effect<Remembered | null, StoreError> => Effect.suspend(() =>
    Effect.flatMap(store.ofKey(apiKeyId, new Date(now()).toISOString(), ENTRIES), (entries): Effect.Effect<Remembered | null, StoreError> => {
      const from = vectors.model()
      if (entries.length === 0 || from === null) return Effect.succeed(entries.length === 0 ? null : new Remembered(entries))
      return Effect.map(store.vectors(apiKeyId, from), (made) => {
        const missing = new Set(vectors.missing(entries, made).map(({ id }) => id))
        if (missing.size > 0) vectors.want(apiKeyId)
        return new Remembered(entries, new Map(made.filter(({ memoryId }) => !missing.has(memoryId)).map(({ memoryId, vector }) => [memoryId, vector])))
      })
    }))

  const failed = (apiKeyId: string, { message }: StoreError): Effect.Effect<Found> => Effect.suspend(() => {
    const at = now()
    failures++
    keep(apiKeyId, "unread", at + AGAIN_MS)
    if (at < quietUntil) return Effect.succeed("unread")
    quietUntil = at + LOG_EVERY_MS
    const readings = failures
    failures = 0
    return Effect.as(Effect.logWarning(`What is remembered could not be read (${readings} times), and requests go on without: ${message}`), "unread")
  })

  const changed = (apiKeyId: string): void => {
    epoch++
    forget(apiKeyId)
    feed.announce()
  }
  vectors.onStored(changed)

  return KeyMemories.of({
    settings: () => {
      if (settings !== undefined) return settings
      const stored = memoryOf(configuration.current().settings)
      return settings = stored.memoryEnabled && stored.memoryMaxTokens > 0 ? stored : null
    },
    peek: (apiKeyId) => {
      const found = known.get(apiKeyId)
      return found === undefined || found.until <= now() ? undefined : found.entries
    },
    find: (apiKeyId) => Effect.suspend(() => {
      const began = epoch
      // A request after a change never joins a look-up that began before it.
      return lookUps.ask(`${began}:${apiKeyId}`, Effect.tap(read(apiKeyId), (entries) => Effect.sync(() => {
        if (began === epoch) keep(apiKeyId, entries, Infinity)
      })))
    }).pipe(Effect.catch((error: StoreError) => failed(apiKeyId, error))),
    read,
    changed,
    forgetAll,
    counts,
    held: () => ({ keys: known.size, characters })
  })
})

export const layer = (options: Options) => Layer.effect(KeyMemories, make(options))

export const layerOf = ({ lookUpMs }: Values) => layer({ lookUpMs })
