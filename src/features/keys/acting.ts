/** Which fields of API keys act. */
import { actIn, actsIn, type Row } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"
import type { PolicyInput } from "./api.ts"

const rows: Readonly<Record<keyof PolicyInput | "name", Row>> = {
  name: actsIn("src/features/keys/http.ts"),
  ...actIn("src/routing/Rights.ts", "modelAccessMode", "allowedModels", "blockedModels", "allowedCombos", "connectionAccessMode", "allowedConnections",
    "preferredConnections", "allowedQuotas"),
  ...actIn("actors/keys/keyPolicy.ts", "allowedEndpoints", "isActive", "isBanned", "accessSchedule", "ipAllowlist", "expiresAt", "scopes"),
  allowedMcpTools: actsIn("src/features/mcpServers/toolRights.ts"),
  ...actIn("src/features/cache/stage.ts", "noLog", "cacheDefaultMode"),
  allowUsageCommand: actsIn("src/features/usage/own/stage.ts"),
  ...actIn("actors/limits/rules.ts", "usageLimitEnabled", "dailyUsageLimitUsd", "weeklyUsageLimitUsd", "maxSessions", "rateLimits",
    "maxRequestsPerMinute", "maxRequestsPerDay"),
  chaosModeEnabled: actsIn("src/routing/Router.ts"),
  autoResolve: actsIn("src/routing/Router.ts"),
  throttleDelayMs: actsIn("src/inference/lane/stages/Waits.ts"),
  streamDefaultMode: actsIn("src/inference/lane/Lane.ts"),
  compressionEnabled: actsIn("src/compression/effective.ts"),
  disableNonPublicModels: actsIn("src/routing/Rights.ts"),
  ...actIn("src/features/guardrails/OptOut.ts", "disabledGuardrails", "allowGuardrailOptOut"),
  disconnectPolicy: actsIn("actors/request/LiveRules.ts")
}

export const apiKey = ActingTable.make("API key", rows, "POST /api/keys", "PATCH /api/keys/:id")
