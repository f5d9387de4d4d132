/** What acts, and what does not act yet. */
import * as Feature from "#src/management/Feature.ts"
import { CapabilitiesGroup } from "./api.ts"
import * as Http from "./http.ts"

export const capabilities = Feature.make({
  name: "capabilities",
  groups: [CapabilitiesGroup],
  handlers: Http.layer
})
