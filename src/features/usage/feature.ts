/** Usage and cost as the ledger knows them, and what a key may know of itself. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import { AnalyticsGroup } from "./analytics/api.ts"
import * as AnalyticsHttp from "./analytics/http.ts"
import { UsageGroup } from "./api.ts"
import * as Http from "./http.ts"
import { LogsGroup } from "./logs/api.ts"
import * as LogsHttp from "./logs/http.ts"
import version3 from "./migrations/0003_usage.ts"
import version13 from "./migrations/0013_clientStatus.ts"
import version15 from "./migrations/0015_units.ts"
import version36 from "./migrations/0036_callLogs.ts"
import version56 from "./migrations/0056_tokensCompressed.ts"
import version66 from "./migrations/0066_proxyOfCalls.ts"
import { SelfUsageGroup } from "./own/api.ts"
import * as OwnHttp from "./own/http.ts"
import * as PostgresUsageStore from "./store/PostgresUsageStore.ts"
import * as UsageReads from "./UsageReads.ts"

export const usage = Feature.make({
  name: "usage",
  groups: [SelfUsageGroup, UsageGroup, AnalyticsGroup, LogsGroup],
  handlers: Layer.provide(Layer.mergeAll(Http.layer, AnalyticsHttp.layer, OwnHttp.layer, LogsHttp.layer), UsageReads.layer),
  stores: PostgresUsageStore.layer,
  migrations: { "3_usage": version3, "13_clientStatus": version13, "15_units": version15, "36_callLogs": version36, "56_tokensCompressed": version56, "66_proxyOfCalls": version66 }
})
