/** Suites and runs of evals in the document store; of runs the newest are kept. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { EvalScores } from "#src/routing/ports/EvalScores.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import { EvalRun, EvalSuite } from "#schemas/records/Eval.ts"
import * as Builtin from "./builtin.ts"
import * as Scoreboard from "./Scoreboard.ts"

const suiteKind = "eval-suite"
const runKind = "eval-run"
/** Runs that are kept, with what routing knows of them. */
const runsMost = 100
/** Suites that may be stored. */
export const suitesMost = 200

type Op<A> = Effect.Effect<A, StoreError>

export class EvalRecords extends Context.Service<EvalRecords, {
  /** Built-in ones first, then by name. */
  readonly suites: Op<ReadonlyArray<EvalSuite>>
  readonly suite: (id: string) => Op<EvalSuite | null>
  readonly put: (suite: EvalSuite) => Op<void>
  readonly remove: (id: string) => Op<boolean>
  /** Newest first. */
  readonly runs: Op<ReadonlyArray<EvalRun>>
  /** Stores a run, tells routing of it and forgets the oldest. */
  readonly keep: (run: EvalRun) => Op<void>
}>()("gateway/http/EvalRecords") {}

const readSuite = Schema.decodeUnknownOption(EvalSuite)
const readRun = Schema.decodeUnknownOption(EvalRun)

export const make = Effect.gen(function*() {
  const documents = yield* DocumentStore
  const scores = yield* EvalScores

  // A document of another version is as if it were not there.
  const runs = Effect.map(documents.list(runKind), (found) =>
    [...found.values()].flatMap((value) => Option.toArray(readRun(value))).sort((a, b) => a.startedAt < b.startedAt ? 1 : -1))

  return EvalRecords.of({
    suites: Effect.map(documents.list(suiteKind), (found) => [
      ...Builtin.suites,
      ...[...found.values()].flatMap((value) => Option.toArray(readSuite(value))).sort((a, b) => a.name < b.name ? -1 : 1)
    ]),
    suite: (id) => {
      const own = Builtin.suites.find((suite) => suite.id === id)
      return own === undefined ? Effect.map(documents.get(suiteKind, id), (value) => Option.getOrNull(readSuite(value))) : Effect.succeed(own)
    },
    put: (suite) => documents.put(suiteKind, suite.id, suite),
    remove: (id) => documents.remove(suiteKind, id),
    runs,
    keep: Effect.fn("EvalRecords.keep")(function*(run) {
      const score = { finishedAt: Date.parse(run.finishedAt), models: run.models }
      yield* documents.put(runKind, run.id, run)
      yield* documents.put(Scoreboard.kind, run.id, score)
      scores.note(score)
      for (const { id } of (yield* runs).slice(runsMost)) {
        yield* documents.remove(runKind, id)
        yield* documents.remove(Scoreboard.kind, id)
      }
    })
  })
})

export const layer = Layer.effect(EvalRecords, make)
