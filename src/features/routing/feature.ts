/** Routing decisions: explained before a request and read after it. */
import * as Feature from "#src/management/Feature.ts"
import { RoutingGroup } from "./api.ts"
import * as Http from "./http.ts"

export const routing = Feature.make({
  name: "routing",
  groups: [RoutingGroup],
  handlers: Http.layer
})
