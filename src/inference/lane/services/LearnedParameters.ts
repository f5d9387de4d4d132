/**
 * Keeps what upstreams refused by name (`autoLearn` of a connection's parameter filters), so that later requests leave it out at once. It
 * is kept when the call without it was not refused for it again.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import type { AttemptEnd } from "#actors/request/steps/attemptValues.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import * as SecondCall from "#actors/request/steps/secondCall.ts"
import { documentKind, paramFiltersOf, withLearned } from "#schemas/words/ParamFilters.ts"

export class LearnedParameters extends Context.Service<LearnedParameters, {
  /** Told of every call. */
  readonly note: (target: Target, end: AttemptEnd) => void
}>()("gateway/lane/LearnedParameters") {}

/** The upstream took the call, or refused it for another member. */
const isProven = (path: string, { error }: AttemptEnd): boolean => {
  const other = error === null ? null : SecondCall.refusedPath(error)
  return error === null || (other !== null && other !== path)
}

const make = Effect.gen(function*() {
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  /** What is being written: many requests learn the same at once. */
  const writing = new Set<string>()

  const write = (connectionId: string, model: string, path: string): void => {
    const key = JSON.stringify([connectionId, model, path])
    if (writing.has(key)) return
    writing.add(key)
    fork(configuration.commit(Effect.gen(function*() {
      const next = withLearned(paramFiltersOf(yield* documents.get(documentKind, connectionId)), model, path)
      if (next === null) return
      yield* documents.put(documentKind, connectionId, next)
      yield* Effect.logInfo(`A parameter that an upstream refuses is left out from now on: see GET /api/providers/${connectionId}/param-filters`, { model, path })
    })).pipe(
      Effect.catchCause((cause) => Effect.logWarning("A parameter that an upstream refuses was not kept; the next request learns it again", cause)),
      Effect.ensuring(Effect.sync(() => writing.delete(key)))
    ))
  }

  return LearnedParameters.of({
    note: ({ connection, learned, model }, end) => {
      if (learned === null || learned === undefined || connection === null) return
      if (isProven(learned, end)) write(connection.id, model, learned)
    }
  })
})

export const layer = Layer.effect(LearnedParameters, make)
