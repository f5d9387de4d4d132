import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration } from "#actors/ports/Configuration.ts"
import { RecordLocks } from "#actors/ports/RecordLocks.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import { type NewRun, type NewSuite, type SuiteChange, EvalsGroup } from "./api.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { EvalCase, EvalRun, EvalRunHead, EvalSuite } from "#schemas/records/Eval.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { EvalRecords, suitesMost } from "./EvalRecords.ts"
import { EvalRuns } from "./EvalRuns.ts"
import * as Judging from "./judging.ts"
import { catalogView } from "#src/routing/models/catalogView.ts"
import { managementCatalog } from "#src/routing/models/modelCatalog.ts"
import * as Surface from "#src/management/Surface.ts"

/** Runs that replies show. */
const recent = 20
/** Keys that are read at once. */
const keysAtOnce = 1_000

const missing = Effect.fail(Refusal.notFound("Suite not found"))

const headOf = ({ results: _results, ...head }: EvalRun): EvalRunHead => head
const headsOf = (runs: ReadonlyArray<EvalRun>): ReadonlyArray<EvalRunHead> => runs.slice(0, recent).map(headOf)

/** Cases with an id each; refuses two of one id, and what could never be judged. */
const casesOf = (given: NewSuite["cases"]): Effect.Effect<ReadonlyArray<EvalCase>, Refusal.Refusal> => {
  const cases = given.map((one, i): EvalCase => ({ ...one, id: one.id ?? `case-${i + 1}`, model: one.model ?? null, tags: one.tags ?? [] }))
  const seen = new Set<string>()
  for (const [i, { expected, id }] of cases.entries()) {
    if (seen.has(id)) return Effect.fail(Refusal.invalidField(`cases.${i}.id`, "Another case of the suite has this id"))
    seen.add(id)
    const problem = Judging.problemOf(expected)
    if (problem !== null) return Effect.fail(Refusal.invalidField(`cases.${i}.expected.value`, problem))
  }
  return Effect.succeed(cases)
}

export const layer = HttpApiBuilder.group(Surface.make(EvalsGroup), "evals", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const keys = yield* KeyStore
  const random = yield* SecureRandom.SecureRandom
  const records = yield* EvalRecords
  const runs = yield* EvalRuns
  // A change keeps the fields that others change at the same time, and no suite replaces another one.
  const locked = (yield* RecordLocks).of("eval suites")

  const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())
  const note = (action: string, { id, name }: EvalSuite) => audit.note({ action, target: id, resourceType: "eval-suite", details: { name } })
  const find = (id: string) => Effect.flatMap(records.suite(id), (suite) => suite === null ? missing : Effect.succeed(suite))

  const own = Effect.fnUntraced(function*(id: string) {
    const suite = yield* find(id)
    return suite.builtIn ? yield* Effect.fail(Refusal.badRequest("Built-in suites are read-only: create one of your own")) : suite
  })

  const targets = () => {
    const snapshot = configuration.current()
    const models = Object.values(managementCatalog(catalogView(snapshot))).flatMap(({ active, models: listed }) => active ? listed : [])
    return [
      { type: "suite-default" as const, id: null, label: "Each case's own model" },
      ...snapshot.combos.map(({ name }) => ({ type: "combo" as const, id: name, label: name })),
      ...models.filter(({ type }) => type === "chat").map(({ id, name }) => ({ type: "model" as const, id, label: name }))
    ]
  }

  /** Every key: what is not offered cannot be chosen. */
  const choices = Effect.gen(function*() {
    const found = new Map<string, string>()
    for (let offset = 0; ; offset += keysAtOnce) {
      const { keys: page } = yield* keys.list(keysAtOnce, offset)
      for (const { id, name } of page) found.set(id, name)
      if (page.length < keysAtOnce) return Array.from(found, ([id, name]) => ({ id, name }))
    }
  })

  const overview = Effect.fn("Evals.overview")(function*() {
    const kept = yield* records.runs
    return {
      suites: yield* records.suites, recentRuns: headsOf(kept), scorecard: Judging.scorecardOf(kept), targets: targets(),
      apiKeys: yield* choices
    }
  })

  const run = Effect.fn("Evals.run")(function*(asked: NewRun) {
    const group = yield* runs.run(asked)
    yield* audit.note({ action: "eval.run", target: asked.suiteId, resourceType: "eval-run", details: { runGroupId: group.runGroupId } })
    const kept = yield* records.runs
    return {
      suiteId: asked.suiteId, ...group, scorecard: Judging.scorecardOf(group.runs), recentRuns: headsOf(kept),
      historyScorecard: Judging.scorecardOf(kept.filter(({ suiteId }) => suiteId === asked.suiteId))
    }
  })

  const create = Effect.fn("Evals.createSuite")(function*(input: NewSuite) {
    const at = yield* now
    const suite: EvalSuite = {
      id: input.id ?? (yield* random.uuidV4()), name: input.name, description: input.description ?? null, cases: yield* casesOf(input.cases),
      builtIn: false, createdAt: at, updatedAt: at
    }
    yield* locked(Effect.gen(function*() {
      if ((yield* records.suite(suite.id)) !== null) return yield* Effect.fail(Refusal.conflict("A suite with this id exists"))
      const { length } = yield* records.suites
      if (length >= suitesMost) return yield* Effect.fail(Refusal.conflict(`${suitesMost} suites are stored: delete one first`))
      yield* records.put(suite)
    }))
    yield* note("eval.suite.created", suite)
    return { suite }
  })

  const update = Effect.fn("Evals.updateSuite")(function*(id: string, { cases, ...change }: SuiteChange) {
    const suite = yield* locked(Effect.gen(function*() {
      const next: EvalSuite = {
        ...yield* own(id), ...change, ...(cases === undefined ? {} : { cases: yield* casesOf(cases) }), updatedAt: yield* now
      }
      yield* records.put(next)
      return next
    }))
    yield* note("eval.suite.updated", suite)
    return { suite }
  })

  const remove = Effect.fn("Evals.removeSuite")(function*(id: string) {
    const suite = yield* own(id)
    if (!(yield* locked(records.remove(id)))) return yield* missing
    yield* note("eval.suite.deleted", suite)
    return { success: true as const }
  })

  return handlers.handleAll({
    overview: () => answer(overview()),
    run: ({ payload }) => answer(run(payload)),
    running: () => Effect.sync(() => ({ runs: runs.running() })),
    suites: () => answer(Effect.map(records.suites, (suites) => ({ suites }))),
    createSuite: ({ payload }) => answer(create(payload)),
    suite: ({ params }) => answer(Effect.map(find(params.id), (suite) => ({ suite }))),
    updateSuite: ({ params, payload }) => answer(update(params.id, payload)),
    removeSuite: ({ params }) => answer(remove(params.id))
  })
}))
