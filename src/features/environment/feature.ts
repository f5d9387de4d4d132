/** The installation's file of variables. */
import * as Feature from "#src/management/Feature.ts"
import { EnvironmentGroup } from "./api.ts"
import * as Http from "./http.ts"
import * as MasterSecret from "./MasterSecret.ts"

export const environment = Feature.make({
  name: "environment",
  groups: [EnvironmentGroup],
  handlers: Http.layer,
  services: MasterSecret.layerOf
})
