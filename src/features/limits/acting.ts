/** Which fields of budgets and token limits act. */
import { actIn, actsIn, type Rows } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"

const budgetRows: Rows = {
  apiKeyId: actsIn("actors/limits/NodeLimits.ts"),
  ...actIn("actors/limits/rules.ts", "dailyLimitUsd", "weeklyLimitUsd", "monthlyLimitUsd", "resetTime", "warningThreshold"),
  ...actIn("src/features/limits/budgetsHttp.ts", "resetInterval")
}

const tokenLimitRows: Rows = {
  apiKeyId: actsIn("actors/limits/NodeLimits.ts"),
  ...actIn("actors/limits/rules.ts", "scopeType", "scopeValue", "tokenLimit", "resetInterval", "resetTime", "enabled"),
  id: actsIn("src/features/limits/tokenLimitsHttp.ts")
}

export const budget = ActingTable.make("Budget", budgetRows, "POST /api/usage/budget")
export const tokenLimit = ActingTable.make("Token limit", tokenLimitRows, "POST /api/usage/token-limits")
