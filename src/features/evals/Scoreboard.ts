/** The port EvalScores over the document store: what is held is answered at once, and read anew behind the request's back. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type EvalRules, EvalScores, type ModelScore } from "#src/routing/ports/EvalScores.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import { EvalScore } from "#schemas/records/Eval.ts"
import { Forks } from "#src/inference/lane/services/Forks.ts"
import { scoresOf } from "#src/routing/evals.ts"

/** Kind of the documents, by run id. */
export const kind = "eval-score"

const read = Schema.decodeUnknownOption(EvalScore)

export interface Options {
  readonly documents: Pick<DocumentStore["Service"], "list">
  readonly fork: (effect: Effect.Effect<void>) => void
}

interface Computed {
  readonly at: number
  readonly scores: ReadonlyMap<string, ModelScore>
}

export const make = ({ documents, fork }: Options): EvalScores["Service"] => {
  let runs: ReadonlyArray<EvalScore> = []
  let computed = new WeakMap<EvalRules, Computed>()
  let readAt = Number.NEGATIVE_INFINITY
  let reading = false

  const hold = (next: ReadonlyArray<EvalScore>): void => {
    runs = next
    computed = new WeakMap()
  }
  const refresh = (now: number): void => {
    reading = true
    readAt = now
    fork(documents.list(kind).pipe(
      Effect.map((found) => hold([...found.values()].flatMap((value) => Option.toArray(read(value))))),
      // The scores in memory still count.
      Effect.catch((error) => Effect.logWarning(`eval scores were not read: ${error.message}`)),
      Effect.ensuring(Effect.sync(() => {
        reading = false
      }))
    ))
  }

  return {
    of: (rules, now) => {
      const known = computed.get(rules)
      if (known !== undefined && now - known.at < rules.cacheTtlMs) return known.scores
      if (!reading && now - readAt >= rules.cacheTtlMs) refresh(now)
      const scores = scoresOf(runs, rules, now)
      computed.set(rules, { at: now, scores })
      return scores
    },
    note: (score) => {
      hold([...runs, score])
      // A reading that is under way may have begun before this run was stored.
      readAt = Number.NEGATIVE_INFINITY
    }
  }
}

export const layer = Layer.effect(EvalScores, Effect.gen(function*() {
  const { fork } = yield* Forks
  return make({ documents: yield* DocumentStore, fork })
}))
