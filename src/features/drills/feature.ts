/** Fire drills: scripted faults of the built-in simulator, for some seconds. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import { DrillsGroup } from "./api.ts"
import * as Drills from "./Drills.ts"
import * as Http from "./http.ts"

export const drills = Feature.make({
  name: "drills",
  groups: [DrillsGroup],
  handlers: Layer.provide(Http.layer, Drills.layer)
})
