/** Addresses that are refused, or the only ones that are served. The filter itself is asked in `src/platform/gate/addresses.ts`. */
import * as Feature from "#src/management/Feature.ts"
import { AddressesGroup } from "./api.ts"
import * as Http from "./http.ts"

export const addresses = Feature.make({
  name: "addresses",
  groups: [AddressesGroup],
  handlers: Http.layer
})
