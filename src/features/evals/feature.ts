/** Evals: questions with known answers, asked of models and combos. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import { EvalsGroup } from "./api.ts"
import * as EvalRecords from "./EvalRecords.ts"
import * as EvalRuns from "./EvalRuns.ts"
import * as Http from "./http.ts"

export const evals = Feature.make({
  name: "evals",
  groups: [EvalsGroup],
  handlers: Layer.provide(Http.layer, Layer.provideMerge(EvalRuns.layer, EvalRecords.layer))
})
