/** What upstreams say is left of their quotas. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import { QuotasGroup } from "./api.ts"
import * as Http from "./http.ts"
import * as LocalQuotas from "./LocalQuotas.ts"
import version10 from "./migrations/0010_quota.ts"
import * as QuotaPolls from "./polls/QuotaPolls.ts"
import * as PostgresQuotaStore from "./PostgresQuotaStore.ts"

export const quotas = Feature.make({
  name: "quotas",
  groups: [QuotasGroup],
  handlers: Http.layer,
  stores: PostgresQuotaStore.layer,
  migrations: { "10_quota": version10 },
  services: ({ databaseUrl }) => Layer.provideMerge(QuotaPolls.layer({ shared: databaseUrl !== null }), LocalQuotas.layer)
})
