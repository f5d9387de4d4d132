/** Which settings act: of /api/settings, of /api/settings/cache-config and of /api/resilience. */
import type { SettingsInput } from "#src/features/settings/api.ts"
import { actIn, actsIn, lack, lacks, type Row, type Rows } from "#schemas/acting/row.ts"

export const settings: Readonly<Record<Exclude<keyof SettingsInput, "comboDefaults" | "providerOverrides" | "modelLockout">, Row>> = {
  requireLogin: actsIn("src/management/authentication/Authentication.ts"),
  setupComplete: actsIn("src/features/auth/http.ts"),
  ...lack("dashboard", null, "theme", "language", "instanceName", "customLogoUrl", "customFaviconUrl"),
  ...lack("dashboard", [], "hiddenSidebarItems"),
  ...lack("dashboard", false, "hideHealthCheckLogs"),
  comboConfigMode: lacks("dashboard", "guided"),
  corsOrigins: actsIn("src/platform/gate/pages.ts"),
  ...lack("cloudSync", null, "baseUrl", "cloudUrl"),
  cloudEnabled: lacks("cloudSync", false),
  stickyRoundRobinLimit: actsIn("src/routing/selection.ts"),
  requestRetry: lacks("interfaceModes", 3),
  maxRetryIntervalSec: lacks("interfaceModes", 30),
  fallbackStrategy: actsIn("src/routing/selection.ts"),
  wildcardAliases: actsIn("src/routing/plan.ts"),
  blockedProviders: lacks("whitelists", []),
  customBannedSignals: lacks("accountRecovery", []),
  bruteForceProtection: actsIn("src/management/authentication/PasswordGate.ts"),
  mcpEnabled: lacks("mcp", false),
  mcpTransport: lacks("mcp", "stdio"),
  localOnlyManageScopeBypassEnabled: lacks("mcp", true),
  localOnlyManageScopeBypassPrefixes: lacks("mcp", ["/api/mcp/"]),
  a2aEnabled: lacks("a2a", false),
  wsAuth: lacks("webSockets", false),
  maxBodySizeMb: actsIn("src/inference/lane/services/Inference.ts"),
  comboAutoPromoteEnabled: lacks("interfaceModes", false),
  sessionAffinityTtlMs: actsIn("src/routing/Router.ts"),
  responsesPreviousResponseIdMode: actsIn("src/inference/conversations/services.ts"),
  alwaysPreserveClientCache: actsIn("src/inference/conversations/services.ts"),
  idempotencyWindowMs: actsIn("src/features/cache/repeats.ts"),
  autoRefreshProviderQuota: lacks("quotaRefresh", false),
  autoRefreshProviderQuotaInterval: lacks("quotaRefresh", 180),
  intentDetectionEnabled: lacks("intents", false),
  intentSimpleMaxWords: lacks("intents"),
  ...lack("intents", [], "intentExtraCodeKeywords", "intentExtraReasoningKeywords", "intentExtraSimpleKeywords"),
  ...actIn("src/routing/Router.ts", "autoRoutingEnabled", "autoRoutingDefaultVariant"),
  lkgpEnabled: lacks("interfaceModes", true),
  stripModelPrefix: lacks("privateModels", false),
  cliCompatProviders: lacks("vendorClients", []),
  systemTransforms: lacks("systemPrompt", {}),
  usageTokenBuffer: lacks("interfaceModes", 0),
  skillsProvider: lacks("plugins"),
  proxyEnabled: lacks("proxies", true),
  ...lack("proxies", false, "perKeyProxyEnabled", "enableSocks5Proxy"),
  customSystemPromptEnabled: lacks("systemPrompt", false),
  customSystemPrompt: lacks("systemPrompt", ""),
  allowGuardrailOptOut: lacks("guardrails", true),
  ...lack("logging", false, "debugMode", "logToolSources"),
  customAgents: lacks("agents", []),
  oidcEnabled: lacks("oidc", false),
  ...lack("oidc", null, "oidcIssuer", "oidcClientId", "oidcClientSecret"),
  oidcAllowedSubjects: lacks("oidc", []),
  modelsDevSyncEnabled: lacks("discovery", false),
  modelsDevSyncInterval: lacks("discovery")
}

export const modelLockout: Rows = actIn(
  "actors/resilience/ModelLockout.ts", "enabled", "errorCodes", "baseCooldownMs", "maxCooldownMs", "maxBackoffSteps", "useExponentialBackoff"
)

export const cacheConfig: Rows = {
  ...actIn("src/features/cache/TieredCache.ts", "semanticCacheEnabled", "semanticCacheMaxSize", "semanticCacheTTL"),
  ...actIn("src/inference/conversations/services.ts", "promptCacheEnabled", "promptCacheStrategy", "alwaysPreserveClientCache"),
  idempotencyWindowMs: actsIn("src/features/cache/repeats.ts")
}

export const resilience: Rows = {
  ...actIn(
    "src/features/resilience/local/rules.ts", "requestQueue.autoEnableApiKeyProviders", "requestQueue.requestsPerMinute",
    "requestQueue.minTimeBetweenRequestsMs", "requestQueue.concurrentRequests", "requestQueue.maxWaitMs", "requestQueue.executionMaxWaitMs",
    "requestQueue.maxQueueDepth", "providerQuotaOverrides.*.rpm", "providerQuotaOverrides.*.concurrency"
  ),
  "providerQuotaOverrides.*.providerConcurrency": actsIn("src/features/resilience/local/Tables.ts"),
  ...actIn(
    "src/features/resilience/ports/settings.ts", "connectionCooldown.*.baseCooldownMs", "connectionCooldown.*.rateLimitCooldownMs",
    "connectionCooldown.*.useUpstreamRetryHints", "connectionCooldown.*.maxBackoffSteps"
  ),
  "connectionCooldown.*.useUpstream429BreakerHints": lacks("interfaceModes"),
  ...actIn(
    "actors/resilience/ProviderBreaker.ts", "providerBreaker.*.degradationThreshold", "providerBreaker.*.failureThreshold", "providerBreaker.*.resetTimeoutMs"
  ),
  ...actIn(
    "src/features/resilience/local/WaitingRoom.ts", "waitForCooldown.enabled", "waitForCooldown.maxRetries", "waitForCooldown.maxRetryWaitSec",
    "comboCooldownWait.enabled", "comboCooldownWait.maxWaitMs", "comboCooldownWait.maxAttempts", "comboCooldownWait.budgetMs"
  ),
  quotaShareConcurrencyLimit: lacks("connectionGroups", 0),
  "providerCooldown.enabled": lacks("interfaceModes", false),
  "providerCooldown.minMs": lacks("interfaceModes", 5_000),
  "providerCooldown.maxMs": lacks("interfaceModes", 300_000),
  ...actIn("src/features/quotas/preflight.ts", "quotaPreflight.cutoffPercent", "quotaPreflight.warningPercent", "quotaPreflight.providerWindowDefaults.*.*"),
  "credentialHealthCheck.intervalMinutes": actsIn("src/features/providers/ConnectionSweep.ts"),
  ...actIn("src/features/oauth/tokens/RefreshBreaker.ts", "tokenRefreshBreaker.failureThreshold", "tokenRefreshBreaker.cooldownMs"),
  "tokenRefreshBreaker.scope": actsIn("src/features/oauth/tokens/RefreshBreaker.ts")
}
