/** The nodes of the cluster. */
import * as Feature from "#src/management/Feature.ts"
import { NodesGroup } from "./api.ts"
import * as Http from "./http.ts"

export const nodes = Feature.make({
  name: "nodes",
  groups: [NodesGroup],
  handlers: Http.layer
})
