/** Sessions that go on at another node or another model: who served them last, and what was said. */
import * as Feature from "#src/management/Feature.ts"
import { degradation } from "./degradation.ts"

export const sessions = Feature.make({
  name: "sessions",
  degradation
})
