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

export const limits = Feature.make({
  name: "limits",
  groups: [BudgetsGroup, TokenLimitsGroup],
  handlers: Layer.mergeAll(BudgetsHttp.layer, TokenLimitsHttp.layer),
  stores: PostgresLimitRecords.layer,
  migrations: { "7_limits": version7 },
  acting: [Acting.budget, Acting.tokenLimit],
  degradation
})
