/** Overrides of feature flags. */
import * as Feature from "#src/management/Feature.ts"
import { FeatureFlagsGroup } from "./api.ts"
import * as Http from "./http.ts"

export const flags = Feature.make({
  name: "flags",
  groups: [FeatureFlagsGroup],
  handlers: Http.layer
})
