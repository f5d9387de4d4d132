/** Removal of what is recorded of requests. */
import * as Feature from "#src/management/Feature.ts"
import { PurgesGroup } from "./api.ts"
import * as Http from "./http.ts"
import * as Purges from "./Purges.ts"

export const purges = Feature.make({
  name: "purges",
  groups: [PurgesGroup],
  handlers: Http.layer,
  services: ({ auditDays, defaultRatePerDay, usageDays }) => Purges.layer({ defaultPerDay: defaultRatePerDay, usageDays, auditDays })
})
