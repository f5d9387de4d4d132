/** Budgets, token limits and rates of keys. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { BudgetsGroup, TokenLimitsGroup } from "./api.ts"
import * as BudgetsHttp from "./budgetsHttp.ts"
import version7 from "./migrations/0007_limits.ts"
import * as PostgresLimitRecords from "./PostgresLimitRecords.ts"
import * as TokenLimitsHttp from "./tokenLimitsHttp.ts"
import { degradation } from "./degradation.ts"
import * as NodeLimits from "#actors/limits/NodeLimits.ts"
import { processIdOf } from "#src/platform/configuration/nodeId.ts"
import { orShared } from "#src/platform/redis/orShared.ts"
import * as Registry from "#src/providers/Registry.ts"
import * as MemoryLimitStore from "./MemoryLimitStore.ts"
import * as StoredLimitLedger from "./StoredLimitLedger.ts"

export const limits = Feature.make({
  name: "limits",
  groups: [BudgetsGroup, TokenLimitsGroup],
  handlers: Layer.mergeAll(BudgetsHttp.layer, TokenLimitsHttp.layer),
  stores: PostgresLimitRecords.layer,
  migrations: { "7_limits": version7 },
  acting: [Acting.budget, Acting.tokenLimit],
  degradation,
  services: (settings) => {
    const id = processIdOf(settings)
    const store = orShared(settings, MemoryLimitStore.layer(id), async () => (await import("./RedisLimitStore.ts")).layer(id))
    return NodeLimits.layer({
      defaultPerDay: settings.defaultRatePerDay,
      providerOf: (name) => Registry.builtin.byPrefix.get(name)?.id ?? null
    }).pipe(Layer.provide(Layer.mergeAll(store, StoredLimitLedger.layer({ lookUpMs: settings.lookUpMs }))))
  }
})
