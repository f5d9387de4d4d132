/** What the rounds of an assessment know of one model. */
import * as Schema from "effect/Schema"

const count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** `working` = the last probe passed; `failing` = it did not; `broken` = three failed in a row, until two pass in a row; `unknown` = rate limits only. */
export const ModelStanding = Schema.Literals(["working", "failing", "broken", "unknown"])
export type ModelStanding = typeof ModelStanding.Type

export const ProbeOutcome = Schema.Literals(["passed", "failed", "rate_limited"])
export type ProbeOutcome = typeof ProbeOutcome.Type

/** Times are ISO 8601 strings. */
export const Assessment = Schema.Struct({
  /** `<provider>/<model>`. */
  modelId: Schema.String,
  provider: Schema.String,
  /** What the model is for, as in the catalogue. */
  category: Schema.String,
  status: ModelStanding,
  lastOutcome: ProbeOutcome,
  /** Probes in a row; a rate limit ends no row. */
  passes: count,
  failures: count,
  /** HTTP status of the last probe; 0 when nothing came. */
  lastStatus: Schema.Int,
  /** Null after a probe that passed. */
  lastError: Schema.NullOr(Schema.String),
  latencyMs: count,
  lastRunId: Schema.String,
  testedAt: Schema.String
}).annotate({ identifier: "ModelAssessment" })
export interface Assessment extends Schema.Schema.Type<typeof Assessment> {}
