/** Exclusive leases of connections. */
import * as Feature from "#src/management/Feature.ts"
import version6 from "./migrations/0006_leases.ts"
import * as PostgresLeaseRecords from "./PostgresLeaseRecords.ts"
import { degradation } from "./degradation.ts"

export const leases = Feature.make({
  name: "leases",
  stores: PostgresLeaseRecords.layer,
  migrations: { "6_leases": version6 },
  degradation
})
