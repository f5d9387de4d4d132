/** Assessment: which models work. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import { AssessmentGroup } from "./api.ts"
import * as Assessments from "./Assessments.ts"
import * as Http from "./http.ts"

export const assessment = Feature.make({
  name: "assessment",
  groups: [AssessmentGroup],
  handlers: Layer.provide(Http.layer, Assessments.layer)
})
