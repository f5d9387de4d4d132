/** Runs of eval suites: the cases one after another through the request path, judged, and kept. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import { EvalCalls } from "#src/inference/ports/EvalCalls.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { Keys } from "#actors/ports/Keys.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import type { NewRun, TargetInput } from "./api.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { EvalCase, EvalResult, EvalRun, EvalSuite, EvalTarget } from "#schemas/records/Eval.ts"
import { EvalRecords } from "./EvalRecords.ts"
import * as Judging from "./judging.ts"

/** Tokens that an answer may have, unless its case says otherwise. */
const maxTokens = 512
/** ms for one case. */
const caseTimeout = 60_000
/** Characters of an answer that are kept. */
const shown = 500
/** Runs of this process at once. */
const runsAtOnce = 4

export interface RunGroup {
  readonly runGroupId: string
  readonly runs: ReadonlyArray<EvalRun>
}

/** A run under way: how many of its cases have an answer. */
export interface RunProgress {
  readonly runGroupId: string
  readonly suiteId: string
  readonly target: EvalTarget
  readonly done: number
  readonly cases: number
  readonly startedAt: string
}

export class EvalRuns extends Context.Service<EvalRuns, {
  /** Runs of this process. */
  readonly running: () => ReadonlyArray<RunProgress>
  /** What goes wrong with a case is its result; interrupting a run ends it, and nothing of it is kept. */
  readonly run: (asked: NewRun) => Effect.Effect<RunGroup, Refusal.Refusal | StoreError>
}>()("gateway/http/EvalRuns") {}

/** One target of a run: what it is called in records, and what each case asks; null = the case's own model. */
interface Aim {
  readonly target: EvalTarget
  readonly model: string | null
}

const isSame = (a: EvalTarget, b: EvalTarget): boolean => a.type === b.type && a.id === b.id

export const make = Effect.gen(function*() {
  const calls = yield* EvalCalls
  const configuration = yield* Configuration
  const keys = yield* Keys
  const stored = yield* KeyStore
  const random = yield* SecureRandom.SecureRandom
  const records = yield* EvalRecords
  let running = 0
  const progress = new Map<string, RunProgress>()

  const aimOf = (field: string, { id, type }: TargetInput): Effect.Effect<Aim, Refusal.Refusal> => {
    if (type === "suite-default") return Effect.succeed({ target: { type, id: null }, model: null })
    if (id === undefined) return Effect.fail(Refusal.invalidField(`${field}.id`, `Name the ${type} that is to be asked`))
    if (type === "model") return Effect.succeed({ target: { type, id }, model: id })
    const combo = configuration.current().combos.find((one) => one.id === id || one.name === id)
    return combo === undefined
      ? Effect.fail(Refusal.invalidField(`${field}.id`, "No such combo"))
      : Effect.succeed({ target: { type, id: combo.name }, model: `combo/${combo.name}` })
  }

  const judged = ({ expected, id, name }: EvalCase, text: string, rest: Pick<EvalResult, "model" | "answeredBy" | "latencyMs">): EvalResult => ({
    caseId: id, name, ...rest, status: Judging.isRight(expected, text) ? "passed" : "failed", output: text.slice(0, shown), error: null
  })

  const ask = (one: EvalCase, aim: Aim, key: ApiKey | null, given: string | undefined): Effect.Effect<EvalResult> => {
    if (given !== undefined) return Effect.succeed(judged(one, given, { model: null, answeredBy: null, latencyMs: null }))
    const model = aim.model ?? one.model
    const wrong = (error: string, latencyMs: number | null): EvalResult =>
      ({ caseId: one.id, name: one.name, model, answeredBy: null, status: "error", output: null, error, latencyMs })
    if (model === null) return Effect.succeed(wrong("The case names no model: run the suite against a target.", null))
    return Effect.map(
      calls.ask({ model, messages: one.input.messages, maxTokens: one.input.max_tokens ?? maxTokens, key, timeoutMs: caseTimeout }),
      ({ answeredBy, error, latencyMs, text }) =>
        text === null ? wrong(error ?? "There was no answer.", latencyMs) : judged(one, text, { model, answeredBy, latencyMs })
    )
  }

  const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())

  const runOne = Effect.fnUntraced(function*(suite: EvalSuite, aim: Aim, key: ApiKey | null, asked: NewRun, runGroupId: string) {
    const outputs = asked.outputs ?? {}
    const startedAt = yield* now
    const told = (done: number): void => void progress.set(runGroupId, { runGroupId, suiteId: suite.id, target: aim.target, done, cases: suite.cases.length, startedAt })
    told(0)
    const results = yield* Effect.forEach(suite.cases, (one, index) =>
      Effect.tap(ask(one, aim, key, Object.hasOwn(outputs, one.id) ? outputs[one.id] : undefined), () => Effect.sync(() => told(index + 1))))
    const count = (status: EvalResult["status"]): number => results.filter((result) => result.status === status).length
    const run: EvalRun = {
      id: yield* random.uuidV4(), runGroupId, suiteId: suite.id, suiteName: suite.name, target: aim.target, apiKeyId: key === null ? null : key.id,
      startedAt, finishedAt: yield* now, cases: results.length, passed: count("passed"), failed: count("failed"), errors: count("error"),
      models: Judging.tallied(results), results
    }
    yield* records.keep(run)
    return run
  })

  const run = Effect.fn("EvalRuns.run")(function*(asked: NewRun) {
    const suite = yield* records.suite(asked.suiteId)
    if (suite === null) return yield* Effect.fail(Refusal.notFound("Suite not found"))
    const stray = Object.keys(asked.outputs ?? {}).find((id) => !suite.cases.some((one) => one.id === id))
    if (stray !== undefined) return yield* Effect.fail(Refusal.invalidField("outputs", `The suite has no case '${stray.slice(0, 100)}'`))
    const record = asked.apiKeyId === undefined ? null : yield* stored.get(asked.apiKeyId)
    // With its issuer, whose lists bind it, too.
    const key = record === null ? null : yield* keys.find(record.keyHash)
    if (asked.apiKeyId !== undefined && key === null) return yield* Effect.fail(Refusal.notFound("API key not found"))
    const aims = [yield* aimOf("target", asked.target ?? { type: "suite-default" })]
    if (asked.compareTarget !== undefined) {
      const other = yield* aimOf("compareTarget", asked.compareTarget)
      if (isSame(other.target, (aims[0] as Aim).target)) {
        return yield* Effect.fail(Refusal.invalidField("compareTarget", "It must differ from the target"))
      }
      aims.push(other)
    }
    const runGroupId = yield* random.uuidV4()
    const runs = Effect.forEach(aims, (aim) => runOne(suite, aim, key, asked, runGroupId))
    return { runGroupId, runs: yield* Effect.ensuring(runs, Effect.sync(() => progress.delete(runGroupId))) }
  })

  return EvalRuns.of({
    running: () => [...progress.values()],
    run: (asked) => Effect.suspend(() => {
      if (running >= runsAtOnce) return Effect.fail(Refusal.conflict(`${runsAtOnce} eval runs are under way: wait until one has ended`))
      running++
      return Effect.ensuring(run(asked), Effect.sync(() => {
        running--
      }))
    })
  })
})

export const layer = Layer.effect(EvalRuns, make)
