/** Evals: suites of cases with expected answers, and the results of their runs. */
import * as Schema from "effect/Schema"

const text = (minimum: number, maximum: number) => Schema.String.check(Schema.isBetweenLength(minimum, maximum))
const count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const EvalMessage = Schema.Struct({ role: text(1, 50), content: text(0, 20_000) })

/** `contains` ignores case, `exact` ignores white space around the answer, `regex` is matched in linear time, anywhere in it. */
export const EvalExpectation = Schema.Struct({ strategy: Schema.Literals(["contains", "exact", "regex"]), value: text(1, 20_000) })
export interface EvalExpectation extends Schema.Schema.Type<typeof EvalExpectation> {}

const EvalInput = Schema.Struct({
  messages: Schema.Array(EvalMessage).check(Schema.isMinLength(1), Schema.isMaxLength(32)),
  max_tokens: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 8_192 })))
}).annotate({ identifier: "EvalInput" })

export const EvalCase = Schema.Struct({
  id: text(1, 100),
  name: text(1, 200),
  /** Asked by runs whose target is `suite-default`. */
  model: Schema.NullOr(text(1, 300)),
  input: EvalInput,
  expected: EvalExpectation,
  tags: Schema.Array(text(1, 64)).check(Schema.isMaxLength(20))
})
export interface EvalCase extends Schema.Schema.Type<typeof EvalCase> {}

/** Times are ISO 8601 strings. */
export const EvalSuite = Schema.Struct({
  id: Schema.String,
  name: text(1, 200),
  description: Schema.NullOr(text(0, 2_000)),
  cases: Schema.Array(EvalCase).check(Schema.isMinLength(1), Schema.isMaxLength(200)),
  /** Read-only, not stored. */
  builtIn: Schema.Boolean,
  createdAt: Schema.String,
  updatedAt: Schema.String
}).annotate({ identifier: "EvalSuite" })
export interface EvalSuite extends Schema.Schema.Type<typeof EvalSuite> {}

export const EvalTarget = Schema.Struct({
  type: Schema.Literals(["suite-default", "model", "combo"]), id: Schema.NullOr(Schema.String)
}).annotate({ identifier: "EvalTarget" })
export interface EvalTarget extends Schema.Schema.Type<typeof EvalTarget> {}

export const EvalResult = Schema.Struct({
  caseId: Schema.String,
  name: Schema.String,
  /** What was asked; null for an answer that came with the run. */
  model: Schema.NullOr(Schema.String),
  /** Canonical id of the model that answered; null when it is not known. */
  answeredBy: Schema.NullOr(Schema.String),
  /** `error`: there was no answer to judge. */
  status: Schema.Literals(["passed", "failed", "error"]),
  /** The answer, shortened. */
  output: Schema.NullOr(Schema.String),
  error: Schema.NullOr(Schema.String),
  /** ms; null for an answer that was not measured. */
  latencyMs: Schema.NullOr(Schema.Finite)
})
export interface EvalResult extends Schema.Schema.Type<typeof EvalResult> {}

/** Judged answers of one model; `latencyMs` is their sum. */
export const EvalTally = Schema.Struct({ cases: count, passed: count, latencyMs: Schema.Finite }).annotate({ identifier: "EvalTally" })
export interface EvalTally extends Schema.Schema.Type<typeof EvalTally> {}

/** What routing keeps of a run: measured answers by canonical model id. `finishedAt`: ms since the epoch. */
export const EvalScore = Schema.Struct({ finishedAt: Schema.Finite, models: Schema.Record(Schema.String, EvalTally) })
export interface EvalScore extends Schema.Schema.Type<typeof EvalScore> {}

export const EvalRunHead = Schema.Struct({
  id: Schema.String,
  /** The runs of one request share it. */
  runGroupId: Schema.String,
  suiteId: Schema.String,
  suiteName: Schema.String,
  target: EvalTarget,
  apiKeyId: Schema.NullOr(Schema.String),
  startedAt: Schema.String,
  finishedAt: Schema.String,
  cases: count,
  passed: count,
  failed: count,
  errors: count,
  models: Schema.Record(Schema.String, EvalTally)
}).annotate({ identifier: "EvalRunHead" })
export interface EvalRunHead extends Schema.Schema.Type<typeof EvalRunHead> {}

export const EvalRun = Schema.Struct({ ...EvalRunHead.fields, results: Schema.Array(EvalResult) })
export interface EvalRun extends Schema.Schema.Type<typeof EvalRun> {}
