/** What operators change in the bodies that upstreams are sent. */
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { PayloadRulesGroup } from "./api.ts"
import * as Http from "./http.ts"

export const payloadRules = Feature.make({
  name: "payloadRules",
  groups: [PayloadRulesGroup],
  handlers: Http.layer,
  acting: [Acting.payloadRules]
})
