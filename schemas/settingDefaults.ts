import type * as Schema from "effect/Schema"

/** Defaults of the general settings (PATCH /api/settings); a key without one is absent until it is stored. */
export const settingDefaults: Readonly<Record<string, Schema.Json>> = {
  requireLogin: true, setupComplete: false, cloudEnabled: false, stickyRoundRobinLimit: 3, requestRetry: 3, maxRetryIntervalSec: 30,
  fallbackStrategy: "fill-first", wildcardAliases: [], blockedProviders: [], deniedTools: [], customBannedSignals: [], bruteForceProtection: true,
  mcpEnabled: false, mcpTransport: "stdio", a2aEnabled: false, wsAuth: false, maxBodySizeMb: 10, comboConfigMode: "guided",
  comboDefaults: {}, providerOverrides: {}, comboAutoPromoteEnabled: false, sessionAffinityTtlMs: 0, alwaysPreserveClientCache: "auto",
  idempotencyWindowMs: 5000, autoRefreshProviderQuota: false, autoRefreshProviderQuotaInterval: 180, intentDetectionEnabled: false,
  intentSimpleMaxWords: 30, intentExtraCodeKeywords: [], intentExtraReasoningKeywords: [], intentExtraSimpleKeywords: [],
  autoRoutingEnabled: true, autoRoutingDefaultVariant: "lkgp", lkgpEnabled: true, proxyEnabled: true, perKeyProxyEnabled: false, enableSocks5Proxy: false,
  localOnlyManageScopeBypassEnabled: true, localOnlyManageScopeBypassPrefixes: ["/api/mcp/"], customSystemPromptEnabled: false,
  customSystemPrompt: "", allowGuardrailOptOut: true, visionBridgeEnabled: false, visionBridgeTimeout: 0, visionBridgeMaxImages: 0, debugMode: false, logToolSources: false, customAgents: [], oidcEnabled: false,
  callLogBodies: false, callLogBodyShare: 1, callLogBodyMaxKb: 64, callLogBodyTotalMb: 256, callLogBodyHours: 24,
  oidcAllowedSubjects: [], modelsDevSyncEnabled: false, usageTokenBuffer: 0
}
