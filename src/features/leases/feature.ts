/** Exclusive leases of connections. */
import * as Feature from "#src/management/Feature.ts"
import { LeasesGroup } from "./api.ts"
import * as Http from "./http.ts"
import version6 from "./migrations/0006_leases.ts"
import * as PostgresLeaseRecords from "./PostgresLeaseRecords.ts"
import { degradation } from "./degradation.ts"
import * as Layer from "effect/Layer"
import * as Leases from "#actors/lease/Leases.ts"
import { orShared } from "#src/platform/redis/orShared.ts"
import * as MemoryLeaseStore from "./MemoryLeaseStore.ts"

export const leases = Feature.make({
  name: "leases",
  groups: [LeasesGroup],
  handlers: Http.layer,
  stores: PostgresLeaseRecords.layer,
  migrations: { "6_leases": version6 },
  degradation,
  services: (settings) => Leases.layer({ ttlMs: settings.leaseTtlMs }).pipe(
    Layer.provide(orShared(settings, MemoryLeaseStore.layer, async () => (await import("./RedisLeaseStore.ts")).layer))
  )
})
