/** Health, readiness and the degradation contract. */
import * as Feature from "#src/management/Feature.ts"
import { HealthGroup } from "./api.ts"
import * as Http from "./http.ts"

export const health = Feature.make({
  name: "health",
  groups: [HealthGroup],
  handlers: Http.layer
})
