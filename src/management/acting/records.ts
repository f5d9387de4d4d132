/** Which fields of stored records act; of each record that a client writes over the management API. */
import type { PolicyInput } from "#src/features/keys/api.ts"
import type { ModelInput } from "#src/features/providers/models/api.ts"
import type { NewNode } from "#src/features/providers/nodes/api.ts"
import type { ConnectionChange, InterceptionRules, ParamFilters } from "#src/features/providers/api.ts"
import type { NewWebhook } from "#src/features/webhooks/api.ts"
import { actIn, actsIn, lack, lacks, type Row, type Rows } from "#schemas/acting/row.ts"

type RowsOf<A> = Readonly<Record<keyof A, Row>>

export const apiKey: RowsOf<PolicyInput & { name: string }> = {
  name: actsIn("src/features/keys/http.ts"),
  ...actIn("src/routing/rights.ts", "modelAccessMode", "allowedModels", "blockedModels", "allowedCombos", "connectionAccessMode", "allowedConnections",
    "preferredConnections"),
  ...actIn("actors/keys/keyPolicy.ts", "allowedEndpoints", "isActive", "isBanned", "accessSchedule", "ipAllowlist", "expiresAt", "scopes"),
  allowedQuotas: lacks("connectionGroups", []),
  ...actIn("src/features/cache/stage.ts", "noLog", "cacheDefaultMode"),
  allowUsageCommand: actsIn("src/features/usage/own/stage.ts"),
  ...actIn("actors/limits/rules.ts", "usageLimitEnabled", "dailyUsageLimitUsd", "weeklyUsageLimitUsd", "maxSessions", "rateLimits",
    "maxRequestsPerMinute", "maxRequestsPerDay"),
  chaosModeEnabled: actsIn("src/routing/Router.ts"),
  autoResolve: lacks("privateModels", false),
  throttleDelayMs: actsIn("src/inference/lane/Waits.ts"),
  streamDefaultMode: lacks("vendorClients", "legacy"),
  compressionEnabled: lacks("compression", true),
  disableNonPublicModels: lacks("privateModels", false),
  disabledGuardrails: lacks("guardrails", []),
  allowGuardrailOptOut: lacks("guardrails", true),
  disconnectPolicy: actsIn("actors/request/LiveRules.ts")
}

const connectionFields: RowsOf<Omit<ConnectionChange, "providerSpecificData" | "rateLimitOverrides">> = {
  name: actsIn("src/features/leases/connectionView.ts"),
  priority: actsIn("src/routing/selection.ts"),
  globalPriority: lacks("connectionGroups"),
  defaultModel: actsIn("src/routing/auto/combo.ts"),
  projectId: actsIn("src/providers/credentialKind.ts"),
  testStatus: actsIn("src/features/oauth/tokens/RefreshSweep.ts"),
  ...actIn("src/inference/lane/ConnectionMarks.ts", "lastError", "lastErrorAt", "lastErrorType", "lastErrorSource", "errorCode"),
  rateLimitedUntil: actsIn("src/features/resilience/local/places.ts"),
  lastTested: actsIn("src/features/providers/ConnectionSweep.ts"),
  isActive: actsIn("src/features/oauth/tokens/RefreshSweep.ts"),
  ...lack("proxies", true, "proxyEnabled", "perKeyProxyEnabled"),
  quotaVisible: actsIn("src/features/quotas/http.ts"),
  rateLimitProtection: actsIn("src/features/resilience/local/rules.ts"),
  apiKey: actsIn("src/providers/endpoint.ts"),
  healthCheckInterval: actsIn("src/features/oauth/tokens/RefreshSweep.ts"),
  group: lacks("connectionGroups"),
  maxConcurrent: actsIn("src/features/resilience/local/rules.ts"),
  quotaWindowThresholds: actsIn("src/features/quotas/preflight.ts")
}

/** Keys of providerSpecificData that are the gateway's; a provider's row may name more (`{name}` in its URLs). */
export const providerData: Rows = {
  ...actIn("src/providers/endpoint.ts", "baseUrl", "region", "customUserAgent"),
  ...actIn("src/features/providers/ports/connection.ts", "prefix", "apiType", "nodeName", "chatPath", "modelsPath"),
  project: actsIn("src/providers/credentialKind.ts"),
  validationModelId: actsIn("src/features/providers/ConnectionTests.ts"),
  disableCooling: actsIn("src/features/resilience/local/Tables.ts"),
  ...actIn("src/routing/plan.ts", "disableStreamOptions", "mainFormatOnly"),
  ...actIn("src/features/quotas/preflight.ts", "use5h", "useWeekly"),
  weight: actsIn("src/routing/selection.ts"),
  accountId: actsIn("src/features/oauth/tokens/RefreshSweep.ts"),
  ...actIn("src/routing/auto/factors.ts", "plan", "tier"),
  reasoningControl: lacks("modelQuirks"),
  cx: lacks("search")
}

export const connection: Rows = {
  ...connectionFields,
  ...actIn("src/features/resilience/local/rules.ts", "rateLimitOverrides.rpm", "rateLimitOverrides.minTime", "rateLimitOverrides.maxConcurrent", "rateLimitOverrides.maxWaitMs"),
  ...lack("quotaRules", 0, "rateLimitOverrides.rpd", "rateLimitOverrides.tpm", "rateLimitOverrides.tpd"),
  ...Object.fromEntries(Object.entries(providerData).map(([key, row]) => [`providerSpecificData.${key}`, row]))
}

export const paramFilters: RowsOf<typeof ParamFilters.Type> = {
  ...lack("interception", [], "block", "allow"),
  models: lacks("interception", {}),
  autoLearn: lacks("interception", false)
}

export const interceptionRules: RowsOf<typeof InterceptionRules.Type> = {
  ...lack("interception", false, "interceptSearch", "interceptFetch"),
  ...lack("interception", null, "fetchBackend", "fetchProxyUrl"),
  models: lacks("interception", {})
}

export const node: RowsOf<NewNode> = {
  ...actIn("src/routing/plan.ts", "type", "prefix", "apiType", "chatPath"),
  name: actsIn("src/routing/models/modelCatalog.ts"),
  ...actIn("src/providers/endpoint.ts", "baseUrl", "customHeaders"),
  modelsPath: actsIn("src/features/providers/probe/wireCalls.ts"),
  apiKey: actsIn("src/features/providers/nodes/Nodes.ts"),
  iconUrl: lacks("dashboard"),
  ...lack("nodeQuota", null, "dailyQuotaResetTimezone", "dailyQuotaResetHour")
}

export const customModel: RowsOf<ModelInput> = {
  ...actIn("src/routing/models/resolveModel.ts", "provider", "modelId"),
  ...actIn("src/routing/models/modelCatalog.ts", "modelName", "apiFormat", "supportedEndpoints", "modelType", "max_input_tokens", "max_output_tokens",
    "contextWindowOverride", "dimensions", "supportsVision", "isHidden", "supportedInputTypes"),
  source: actsIn("src/features/providers/Upstreams.ts"),
  ...lack("modelQuirks", null, "targetFormat", "preserveOpenAIDeveloperRole"),
  isFree: lacks("dashboard"),
  normalizeToolCallId: lacks("modelQuirks", false),
  upstreamHeaders: actsIn("src/routing/plan.ts"),
  ...lack("modelQuirks", {}, "compatByProtocol", "generationConfig")
}

export const webhook: RowsOf<NewWebhook> = {
  ...actIn("src/features/webhooks/wireForms.ts", "url", "kind", "secret", "metadata"),
  ...actIn("src/features/webhooks/http.ts", "description", "active"),
  ...actIn("actors/webhook/Webhooks.ts", "events", "enabled")
}

export const budget: Rows = {
  apiKeyId: actsIn("actors/limits/Limits.ts"),
  ...actIn("actors/limits/rules.ts", "dailyLimitUsd", "weeklyLimitUsd", "monthlyLimitUsd", "resetTime"),
  ...actIn("src/features/limits/budgetsHttp.ts", "warningThreshold", "resetInterval")
}

export const tokenLimit: Rows = {
  apiKeyId: actsIn("actors/limits/Limits.ts"),
  ...actIn("actors/limits/rules.ts", "scopeType", "scopeValue", "tokenLimit", "resetInterval", "resetTime", "enabled"),
  id: actsIn("src/features/limits/tokenLimitsHttp.ts")
}

export const mapping: Rows = {
  ...actIn("src/routing/combos/resolve.ts", "pattern", "comboId", "priority", "enabled"),
  description: actsIn("src/features/combos/mappingsHttp.ts")
}
