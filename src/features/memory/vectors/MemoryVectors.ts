/**
 * Embeds entries and questions by a model of the gateway itself, in the name of the API key that they belong to: recorded, limited and
 * billed as the key's own calls. Entries are embedded in the background, one key after another; questions within a deadline. Where that
 * fails, words alone decide, and the key's calls pause.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import type { MemoryEntry } from "#schemas/memory/MemoryEntry.ts"
import { memoryOf } from "#schemas/memory/MemorySettings.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import { EnvironmentKeys } from "#src/inference/ports/EnvironmentKeys.ts"
import type { OwnCalls } from "#src/inference/ports/OwnCalls.ts"
import * as Rounds from "#src/platform/structures/Rounds.ts"
import { ENTRIES } from "#src/features/memory/bounds.ts"
import { type EntryVector, MemoryStore } from "#src/features/memory/ports/MemoryStore.ts"
import { digestOf, textOf, type Vector, vectorsIn } from "./vector.ts"

/** Texts of one call. */
export const BATCH = 32
/** Longest wait for one call about entries, ms. */
const ENTRIES_MS = 30_000
/** Longest wait of a request for the vector of its question, ms. */
export const QUESTION_MS = 1_000
/** After a call that failed, the key makes no further one for this long, ms. */
export const PAUSE_MS = 30_000
/** Keys that wait for their entries, and keys that pause. */
const KEYS = 10_000
/** Questions whose vectors are kept: each turn of a conversation has the same one. */
const QUESTIONS = 500
/** Between two keys. */
const EVERY = "100 millis"
/** Between two lines of the log about failures, ms. */
const LOG_EVERY_MS = 60_000

type Ask = OwnCalls["Service"]["ask"]

/** By what the key's entries are embedded: null = without a key. */
interface Owner {
  readonly id: string
  readonly keyHash: string | null
}

export interface Status {
  readonly model: string | null
  /** Keys whose entries wait. */
  readonly queued: number
  /** Keys that pause after a failure. */
  readonly paused: number
  /** How the last call ended; null before the first. */
  readonly last: "ok" | "failed" | null
}

export class MemoryVectors extends Context.Service<MemoryVectors, {
  /** The embedding model; null = none, and nothing is called. */
  readonly model: () => string | null
  /** Calls are made by this from now on. */
  readonly begin: (ask: Ask) => void
  /** Entries without a vector of the model, or whose text was changed since. */
  readonly missing: (entries: ReadonlyArray<MemoryEntry>, vectors: ReadonlyArray<EntryVector>) => ReadonlyArray<MemoryEntry>
  /** Embeds what the key's entries miss, soon. False: too many keys wait. */
  readonly want: (apiKeyId: string) => boolean
  /** The vector of a question: known, or null where none can be had now. Undefined: `vectorOf` makes it. */
  readonly peek: (apiKeyId: string, question: string) => Vector | null | undefined
  /** Null where none is to be had in time. Never fails. */
  readonly vectorOf: (owner: Owner, question: string) => Effect.Effect<Vector | null>
  /** The key makes calls again, whatever failed before. */
  readonly resume: (apiKeyId: string) => void
  /** Calls the listener when entries of a key got vectors here. */
  readonly onStored: (listener: (apiKeyId: string) => void) => void
  readonly status: () => Status
}>()("gateway/features/memory/MemoryVectors") {}

export const make = Effect.gen(function*() {
  const clock = yield* Clock.Clock
  const configuration = yield* Configuration
  const environmentKeys = yield* EnvironmentKeys
  const keys = yield* KeyStore
  const store = yield* MemoryStore
  const waiting = new Set<string>()
  const pausedUntil = new Map<string, number>()
  /** Oldest first. */
  const questions = new Map<string, Vector>()
  const listeners: Array<(apiKeyId: string) => void> = []
  let ask: Ask | null = null
  let model: string | null | undefined
  let last: Status["last"] = null
  let quietUntil = Number.NEGATIVE_INFINITY
  const now = () => clock.currentTimeMillisUnsafe()

  yield* Effect.acquireRelease(Effect.sync(() => configuration.onChange(() => {
    model = undefined
  })), (quiet) => Effect.sync(quiet))
  const modelNow = (): string | null => {
    if (model !== undefined) return model
    const { embeddingSource, memoryEnabled } = memoryOf(configuration.current().settings)
    return model = memoryEnabled && embeddingSource !== "auto" ? embeddingSource : null
  }

  const isPaused = (apiKeyId: string): boolean => {
    const until = pausedUntil.get(apiKeyId)
    if (until === undefined) return false
    if (until > now()) return true
    pausedUntil.delete(apiKeyId)
    return false
  }
  const failed = (apiKeyId: string, why: string) => Effect.suspend(() => {
    const at = now()
    last = "failed"
    if (pausedUntil.size >= KEYS) pausedUntil.clear()
    pausedUntil.set(apiKeyId, at + PAUSE_MS)
    if (at < quietUntil) return Effect.void
    quietUntil = at + LOG_EVERY_MS
    return Effect.logWarning(`What is remembered could not be embedded by ${modelNow() ?? "its model"}, and words alone decide: ${why}`)
  })

  const ownerOf = (id: string): Effect.Effect<Owner | null, StoreError> => {
    if (id === "") return Effect.succeed({ id, keyHash: null })
    for (const [keyHash, key] of environmentKeys) if (key.id === id) return Effect.succeed({ id, keyHash })
    return Effect.map(keys.get(id), (key) => key === null ? null : { id, keyHash: key.keyHash })
  }

  /** Null where it fails, and then the key pauses. */
  const embed = (owner: Owner, from: string, texts: ReadonlyArray<string>, withinMs: number): Effect.Effect<ReadonlyArray<Vector> | null> => Effect.suspend(() => {
    if (ask === null) return Effect.succeed(null)
    const question = { path: "/v1/embeddings", body: JSON.stringify({ model: from, input: texts }), keyHash: owner.keyHash, address: "127.0.0.1" }
    return Effect.flatMap(Effect.timeoutOption(ask(question), withinMs), (answer): Effect.Effect<ReadonlyArray<Vector> | null> => {
      if (answer._tag === "None") return Effect.as(failed(owner.id, `no answer within ${withinMs} ms`), null)
      const { body, status } = answer.value
      const vectors = StatusReason.isOk(status) ? vectorsIn(body, texts.length) : null
      if (vectors === null) return Effect.as(failed(owner.id, StatusReason.isOk(status) ? "the answer has other vectors than were asked for" : `status ${status}`), null)
      last = "ok"
      return Effect.succeed(vectors)
    })
  })

  const missing = (entries: ReadonlyArray<MemoryEntry>, vectors: ReadonlyArray<EntryVector>): ReadonlyArray<MemoryEntry> => {
    const known = new Map(vectors.map(({ digest, memoryId }) => [memoryId, digest]))
    return entries.filter((entry) => known.get(entry.id) !== digestOf(textOf(entry)))
  }

  const embedKey = Effect.fn("MemoryVectors.embedKey")(function*(id: string, from: string) {
    const owner = yield* ownerOf(id)
    if (owner === null) return
    const entries = yield* store.ofKey(id, new Date(now()).toISOString(), ENTRIES)
    const left = missing(entries, yield* store.vectors(id, from))
    let stored = 0
    for (let at = 0; at < left.length && modelNow() === from; at += BATCH) {
      const batch = left.slice(at, at + BATCH)
      const vectors = yield* embed(owner, from, batch.map(textOf), ENTRIES_MS)
      if (vectors === null) break
      yield* store.putVectors(id, from, batch.flatMap((entry, place): ReadonlyArray<EntryVector> => {
        const vector = vectors[place]
        return vector === undefined ? [] : [{ memoryId: entry.id, digest: digestOf(textOf(entry)), vector }]
      }))
      stored += batch.length
    }
    if (stored > 0) for (const listener of listeners) listener(id)
  })

  const round = Effect.suspend(() => {
    const from = modelNow()
    const next = waiting.values().next()
    if (next.done === true || from === null) return Effect.void
    waiting.delete(next.value)
    return isPaused(next.value) ? Effect.void : embedKey(next.value, from).pipe(Effect.catch(({ message }) => failed(next.value, message)))
  })
  const rounds = yield* Rounds.make("memory vectors", () => waiting.size > 0 && ask !== null && modelNow() !== null, EVERY, round)

  const questionKey = (apiKeyId: string, question: string): string => `${modelNow()}\n${apiKeyId}\n${digestOf(question)}`

  return MemoryVectors.of({
    model: modelNow,
    begin: (own) => {
      ask = own
      rounds.wake()
    },
    missing,
    want: (apiKeyId) => {
      if (modelNow() === null || isPaused(apiKeyId)) return true
      if (waiting.size >= KEYS && !waiting.has(apiKeyId)) return false
      waiting.add(apiKeyId)
      rounds.wake()
      return true
    },
    peek: (apiKeyId, question) => {
      const known = questions.get(questionKey(apiKeyId, question))
      return known ?? (ask === null || isPaused(apiKeyId) ? null : undefined)
    },
    vectorOf: (owner, question) => Effect.suspend(() => {
      const from = modelNow()
      if (from === null) return Effect.succeed(null)
      const key = questionKey(owner.id, question)
      return Effect.map(embed(owner, from, [question], QUESTION_MS), (vectors) => {
        const vector = vectors?.[0] ?? null
        if (vector === null) return null
        for (const oldest of questions.keys()) {
          if (questions.size < QUESTIONS) break
          questions.delete(oldest)
        }
        questions.set(key, vector)
        return vector
      })
    }),
    resume: (apiKeyId) => {
      pausedUntil.delete(apiKeyId)
    },
    onStored: (listener) => {
      listeners.push(listener)
    },
    status: () => ({ model: modelNow(), queued: waiting.size, paused: [...pausedUntil.values()].filter((until) => until > now()).length, last })
  })
})

export const layer = Layer.effect(MemoryVectors, make)
