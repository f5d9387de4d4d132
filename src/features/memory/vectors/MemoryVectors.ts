/**
 * Embeds entries and questions by a model of the gateway itself, in the name of the API key that they belong to. Entries are embedded in
 * the background, one key after another; questions within a deadline. Where that fails, words alone decide, and the key's calls pause.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import type { MemoryEntry } from "#schemas/memory/MemoryEntry.ts"
import { memoryOf } from "#schemas/memory/MemorySettings.ts"
import * as Rounds from "#src/platform/structures/Rounds.ts"
import { ENTRIES } from "#src/features/memory/bounds.ts"
import * as ModelCalls from "#src/features/memory/models/ModelCalls.ts"
import { type EntryVector, MemoryStore } from "#src/features/memory/ports/MemoryStore.ts"
import { Generations } from "#src/routing/models/Generations.ts"
import { digestOf, textOf, type Vector, vectorsIn } from "./vector.ts"

/** Texts of one call. */
export const BATCH = 32
/** Longest wait for one call about entries, ms. */
const ENTRIES_MS = 30_000
/** Longest wait of a request for the vector of its question, ms. */
const QUESTION_MS = 1_000
/** Keys that wait for their entries. */
const KEYS = 10_000
/** Questions whose vectors are kept at most: each turn of a conversation has the same one. */
const QUESTIONS = 500
/** Between two keys. */
const EVERY = "100 millis"

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
  readonly begin: (ask: ModelCalls.Ask) => void
  /** Entries without a vector of the model, or whose text was changed since. */
  readonly missing: (entries: ReadonlyArray<MemoryEntry>, vectors: ReadonlyArray<EntryVector>) => ReadonlyArray<MemoryEntry>
  /** Embeds what the key's entries miss, soon. False: too many keys wait. */
  readonly want: (apiKeyId: string) => boolean
  /** The vector of a question: known, or null where none can be had now. Undefined: `vectorOf` makes it. */
  readonly peek: (apiKeyId: string, question: string) => Vector | null | undefined
  /** Null where none is to be had in time. Never fails. */
  readonly vectorOf: (owner: ModelCalls.Owner, question: string) => Effect.Effect<Vector | null>
  /** The key makes calls again, whatever failed before. */
  readonly resume: (apiKeyId: string) => void
  /** Calls the listener when entries of a key got vectors here. */
  readonly onStored: (listener: (apiKeyId: string) => void) => void
  readonly status: () => Status
}>()("gateway/features/memory/MemoryVectors") {}

export const make = Effect.gen(function*() {
  const clock = yield* Clock.Clock
  const configuration = yield* Configuration
  const ownerOf = yield* ModelCalls.owners
  const store = yield* MemoryStore
  const waiting = new Set<string>()
  const questions = new Generations<Vector>(QUESTIONS / 2)
  const listeners: Array<(apiKeyId: string) => void> = []
  let model: string | null | undefined
  const now = () => clock.currentTimeMillisUnsafe()

  yield* Effect.acquireRelease(Effect.sync(() => configuration.onChange(() => {
    model = undefined
  })), (quiet) => Effect.sync(quiet))
  const modelNow = (): string | null => {
    if (model !== undefined) return model
    const { embeddingSource, memoryEnabled } = memoryOf(configuration.current().settings)
    return model = memoryEnabled && embeddingSource !== "auto" ? embeddingSource : null
  }

  const calls = yield* ModelCalls.make(
    () => `What is remembered could not be embedded by ${modelNow() ?? "its model"}, and words alone decide`, "the answer has other vectors than were asked for"
  )
  const embed = (owner: ModelCalls.Owner, from: string, texts: ReadonlyArray<string>, withinMs: number) =>
    calls.call(owner, { path: "/v1/embeddings", body: { model: from, input: texts }, withinMs, read: (body) => vectorsIn(body, texts.length) })

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
    return calls.isPaused(next.value) ? Effect.void : embedKey(next.value, from).pipe(Effect.catch(({ message }) => calls.failed(next.value, message)))
  })
  const rounds = yield* Rounds.make("memory vectors", () => waiting.size > 0 && calls.begun() && modelNow() !== null, EVERY, round)

  const questionKey = (apiKeyId: string, question: string): string => `${modelNow()}\n${apiKeyId}\n${digestOf(question)}`

  return MemoryVectors.of({
    model: modelNow,
    begin: (own) => {
      calls.begin(own)
      rounds.wake()
    },
    missing,
    want: (apiKeyId) => {
      if (modelNow() === null || calls.isPaused(apiKeyId)) return true
      if (waiting.size >= KEYS && !waiting.has(apiKeyId)) return false
      waiting.add(apiKeyId)
      rounds.wake()
      return true
    },
    peek: (apiKeyId, question) => {
      const known = questions.get(questionKey(apiKeyId, question))
      return known ?? (!calls.begun() || calls.isPaused(apiKeyId) ? null : undefined)
    },
    vectorOf: (owner, question) => Effect.suspend(() => {
      const from = modelNow()
      if (from === null) return Effect.succeed(null)
      const key = questionKey(owner.id, question)
      return Effect.map(embed(owner, from, [question], QUESTION_MS), (vectors) => {
        const vector = vectors?.[0] ?? null
        if (vector === null) return null
        questions.set(key, vector)
        return vector
      })
    }),
    resume: calls.resume,
    onStored: (listener) => {
      listeners.push(listener)
    },
    status: () => ({ model: modelNow(), queued: waiting.size, ...calls.status() })
  })
})

export const layer = Layer.effect(MemoryVectors, make)
