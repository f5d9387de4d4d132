/** Prices that an operator sets over the registry's. */
import * as Feature from "#src/management/Feature.ts"
import { PricingGroup } from "./api.ts"
import * as Http from "./http.ts"

export const pricing = Feature.make({
  name: "pricing",
  groups: [PricingGroup],
  handlers: Http.layer
})
