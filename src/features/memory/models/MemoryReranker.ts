/**
 * Ranks entries for a question by a rerank model of the gateway itself, in the name of the API key that they belong to. Where that fails or
 * is late, the order of the strategy stays, and the key's calls pause.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import type { MemoryEntry } from "#schemas/memory/MemoryEntry.ts"
import { memoryOf } from "#schemas/memory/MemorySettings.ts"
import { digestOf, textOf } from "#src/features/memory/vectors/vector.ts"
import { catalogView } from "#src/routing/models/catalogView.ts"
import { Generations } from "#src/routing/models/Generations.ts"
import { managementCatalog } from "#src/routing/models/modelCatalog.ts"
import * as Json from "#src/wire/json/json.ts"
import * as ModelCalls from "./ModelCalls.ts"

/** Longest wait of a request for the order of its entries, ms. */
const RANKING_MS = 1_000
/** Orders that are kept at most: each turn of a conversation asks for the same one. */
const ORDERS = 500

/** Scores by ids of entries, the larger the earlier. */
export type Scores = ReadonlyMap<string, number>

/** The scores of an answer about so many documents; null where one is missing or counts twice. */
const scoresIn = (body: string, ids: ReadonlyArray<string>): Scores | null => {
  const results = Json.parseRecord(body)?.["results"]
  if (!Array.isArray(results) || results.length !== ids.length) return null
  const scores = new Map<string, number>()
  for (const result of results as ReadonlyArray<unknown>) {
    if (!Json.isRecord(result)) return null
    const { index, relevance_score: score } = result
    const id = typeof index === "number" ? ids[index] : undefined
    if (id === undefined || typeof score !== "number" || !Number.isFinite(score)) return null
    scores.set(id, score)
  }
  return scores.size === ids.length ? scores : null
}

export class MemoryReranker extends Context.Service<MemoryReranker, {
  /** The rerank model; null = none, and nothing is called. */
  readonly model: () => string | null
  /** The model that `auto` means now; null = none can be called. */
  readonly first: () => string | null
  /** Calls are made by this from now on. */
  readonly begin: (ask: ModelCalls.Ask) => void
  /** The scores of a question's entries: known, or null where none can be had now. Undefined: `scoresOf` asks for them. */
  readonly peek: (apiKeyId: string, question: string, entries: ReadonlyArray<MemoryEntry>) => Scores | null | undefined
  /** Null where none are to be had in time. Never fails. */
  readonly scoresOf: (owner: ModelCalls.Owner, question: string, entries: ReadonlyArray<MemoryEntry>) => Effect.Effect<Scores | null>
  readonly status: () => { readonly model: string | null; readonly paused: number; readonly last: "ok" | "failed" | null }
}>()("gateway/features/memory/MemoryReranker") {}

export const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const orders = new Generations<Scores>(ORDERS / 2)
  let model: string | null | undefined

  yield* Effect.acquireRelease(Effect.sync(() => configuration.onChange(() => {
    model = undefined
  })), (quiet) => Effect.sync(quiet))

  const first = (): string | null => {
    for (const { active, models } of Object.values(managementCatalog(catalogView(configuration.current())))) {
      const found = active ? models.find(({ type }) => type === "rerank") : undefined
      if (found !== undefined) return found.id
    }
    return null
  }
  const modelNow = (): string | null => {
    if (model !== undefined) return model
    const { memoryEnabled, rerankEnabled, rerankModel } = memoryOf(configuration.current().settings)
    return model = !memoryEnabled || !rerankEnabled ? null : rerankModel === "auto" ? first() : rerankModel
  }

  const calls = yield* ModelCalls.make(
    () => `What is remembered could not be ranked by ${modelNow() ?? "its model"}, and the order of the strategy stays`, "the answer has other places than were asked for"
  )
  const keyOf = (apiKeyId: string, question: string, entries: ReadonlyArray<MemoryEntry>): string =>
    digestOf(JSON.stringify([modelNow(), apiKeyId, question, ...entries.map(({ id, updatedAt }) => [id, updatedAt])]))

  return MemoryReranker.of({
    model: modelNow,
    first,
    begin: calls.begin,
    peek: (apiKeyId, question, entries) => orders.get(keyOf(apiKeyId, question, entries)) ?? (!calls.begun() || calls.isPaused(apiKeyId) ? null : undefined),
    scoresOf: (owner, question, entries) => Effect.suspend(() => {
      const from = modelNow()
      if (from === null) return Effect.succeed(null)
      const key = keyOf(owner.id, question, entries)
      const ids = entries.map(({ id }) => id)
      const body = { model: from, query: question, documents: entries.map(textOf), top_n: entries.length }
      return Effect.map(calls.call(owner, { path: "/v1/rerank", body, withinMs: RANKING_MS, read: (answer) => scoresIn(answer, ids) }), (scores) => {
        if (scores === null) return null
        orders.set(key, scores)
        return scores
      })
    }),
    status: () => ({ model: modelNow(), ...calls.status() })
  })
})

export const layer = Layer.effect(MemoryReranker, make)
