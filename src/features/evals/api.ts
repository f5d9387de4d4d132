import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { clearable, Success, text } from "#schemas/api/fields.ts"
import { EvalCase, EvalRun, EvalRunHead, EvalSuite, EvalTarget } from "#schemas/records/Eval.ts"

const opt = Schema.optionalKey

const CaseInput = Schema.Struct({
  id: opt(EvalCase.fields.id),
  name: EvalCase.fields.name,
  model: clearable(text(1, 300)),
  input: EvalCase.fields.input,
  expected: EvalCase.fields.expected,
  tags: opt(EvalCase.fields.tags)
}).annotate({ identifier: "EvalCaseInput" })

const cases = Schema.Array(CaseInput).check(Schema.isMinLength(1), Schema.isMaxLength(200))

export const NewSuite = Schema.Struct({ id: opt(text(1, 100)), name: EvalSuite.fields.name, description: clearable(text(0, 2_000)), cases })
export interface NewSuite extends Schema.Schema.Type<typeof NewSuite> {}

/** A given list of cases replaces the old one. */
export const SuiteChange = Schema.Struct({ name: opt(EvalSuite.fields.name), description: clearable(text(0, 2_000)), cases: opt(cases) })
export interface SuiteChange extends Schema.Schema.Type<typeof SuiteChange> {}

const TargetInput = Schema.Struct({ type: EvalTarget.fields.type, id: opt(text(1, 300)) })
export interface TargetInput extends Schema.Schema.Type<typeof TargetInput> {}

export const NewRun = Schema.Struct({
  suiteId: text(1, 100),
  /** Answers by case id that are judged as they are, without a call. */
  outputs: opt(Schema.Record(Schema.String, text(0, 100_000))),
  target: opt(TargetInput),
  /** Runs the same suite a second time; it must name another target. */
  compareTarget: opt(TargetInput),
  /** The key in whose name the calls are made: its rules and limits hold. */
  apiKeyId: opt(text(1, 200))
})
export interface NewRun extends Schema.Schema.Type<typeof NewRun> {}

/** Counts over several runs. Rates are 0 to 1 of the judged answers; null without any. */
const Scorecard = Schema.Struct({
  runs: Schema.Int,
  cases: Schema.Int,
  passed: Schema.Int,
  failed: Schema.Int,
  errors: Schema.Int,
  passRate: Schema.NullOr(Schema.Finite),
  models: Schema.Array(Schema.Struct({
    model: Schema.String, cases: Schema.Int, passed: Schema.Int, passRate: Schema.Finite, avgLatencyMs: Schema.Finite
  }))
}).annotate({ identifier: "EvalScorecard" })
export interface Scorecard extends Schema.Schema.Type<typeof Scorecard> {}

const oneSuite = Schema.Struct({ suite: EvalSuite })
const id = { id: Schema.String }
const path = "/api/evals"

/** Evals: questions with known answers that score models; a combo may order its targets by the scores (`evalRouting`). */
export const EvalsGroup = HttpApiGroup.make("evals").add(
  HttpApiEndpoint.get("overview", path, {
    success: Schema.Struct({
      suites: Schema.Array(EvalSuite),
      recentRuns: Schema.Array(EvalRunHead),
      scorecard: Scorecard,
      targets: Schema.Array(Schema.Struct({ type: EvalTarget.fields.type, id: Schema.NullOr(Schema.String), label: Schema.String })),
      apiKeys: Schema.Array(Schema.Struct({ id: Schema.String, name: Schema.String }))
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Suites, the newest runs, and what can be run against what"),
  HttpApiEndpoint.post("run", path, {
    payload: NewRun,
    success: Schema.Struct({
      suiteId: Schema.String,
      runGroupId: Schema.String,
      runs: Schema.Array(EvalRun),
      scorecard: Scorecard,
      recentRuns: Schema.Array(EvalRunHead),
      historyScorecard: Scorecard
    })
  }).annotate(Access, writes).annotate(OpenApi.Summary, "Ask the cases of a suite one after another and judge the answers; ends when the caller leaves"),
  HttpApiEndpoint.get("running", `${path}/running`, {
    success: Schema.Struct({
      runs: Schema.Array(Schema.Struct({
        runGroupId: Schema.String, suiteId: Schema.String, target: EvalTarget,
        /** Cases that have an answer. */
        done: Schema.Int,
        cases: Schema.Int,
        startedAt: Schema.String
      }))
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "How far the runs of this node are"),
  HttpApiEndpoint.get("suites", `${path}/suites`, { success: Schema.Struct({ suites: Schema.Array(EvalSuite) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Every suite by name, built-in ones first"),
  HttpApiEndpoint.post("createSuite", `${path}/suites`, { payload: NewSuite, success: oneSuite.pipe(HttpApiSchema.status(201)) })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Store a suite of 1 to 200 cases"),
  HttpApiEndpoint.get("suite", `${path}/suites/:id`, { params: id, success: oneSuite })
    .annotate(Access, reads).annotate(OpenApi.Summary, "One suite"),
  HttpApiEndpoint.put("updateSuite", `${path}/suites/:id`, { params: id, payload: SuiteChange, success: oneSuite })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Change the given fields; built-in suites are read-only"),
  HttpApiEndpoint.delete("removeSuite", `${path}/suites/:id`, { params: id, success: Success })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Delete a suite; its runs stay")
).annotateMerge(OpenApi.annotations({ title: "Evals", description: "Questions with known answers, asked of models and combos." }))
