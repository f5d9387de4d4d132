/** The audit log, read. */
import * as Feature from "#src/management/Feature.ts"
import { ComplianceGroup } from "./api.ts"
import * as Http from "./http.ts"

export const compliance = Feature.make({
  name: "compliance",
  groups: [ComplianceGroup],
  handlers: Http.layer
})
