/** Which general settings act. */
import { actIn, actsIn, lacks, type Row, type Rows } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"
import { comboLayers } from "#src/features/combos/ports/actingConfig.ts"
import type { SettingsInput } from "./api.ts"

const rows: Readonly<Record<Exclude<keyof SettingsInput, "comboDefaults" | "providerOverrides" | "modelLockout">, Row>> = {
  requireLogin: actsIn("src/management/authentication/Authentication.ts"),
  setupComplete: actsIn("src/features/auth/http.ts"),
  ...actIn("src/features/dashboard/preferences.ts", "theme", "language", "instanceName", "customLogoUrl", "customFaviconUrl", "hiddenSidebarItems", "comboConfigMode"),
  hideHealthCheckLogs: lacks("dashboard", false),
  corsOrigins: actsIn("src/platform/gate/pages.ts"),
  baseUrl: actsIn("src/features/a2a/http.ts"),
  ...actIn("src/features/sync/cloud/Cloud.ts", "cloudUrl", "cloudEnabled"),
  stickyRoundRobinLimit: actsIn("src/routing/selection.ts"),
  ...actIn("src/features/resilience/ports/olderNames.ts", "requestRetry", "maxRetryIntervalSec"),
  fallbackStrategy: actsIn("src/routing/selection.ts"),
  wildcardAliases: actsIn("src/routing/plan.ts"),
  blockedProviders: actsIn("src/routing/plan.ts"),
  deniedTools: actsIn("src/features/toolPolicy/policy.ts"),
  customBannedSignals: actsIn("src/inference/lane/ConnectionMarks.ts"),
  bruteForceProtection: actsIn("src/management/authentication/brake/Brake.ts"),
  ...actIn("src/features/mcp/Admission.ts", "mcpEnabled", "mcpTransport"),
  ...actIn("src/management/authentication/Authentication.ts", "localOnlyManageScopeBypassEnabled", "localOnlyManageScopeBypassPrefixes"),
  a2aEnabled: actsIn("src/features/a2a/http.ts"),
  wsAuth: actsIn("src/inference/sockets/Sockets.ts"),
  maxBodySizeMb: actsIn("src/inference/lane/services/Inference.ts"),
  comboAutoPromoteEnabled: actsIn("src/routing/strategies/promotion.ts"),
  sessionAffinityTtlMs: actsIn("src/routing/Router.ts"),
  responsesPreviousResponseIdMode: actsIn("src/inference/conversations/ConversationServices.ts"),
  alwaysPreserveClientCache: actsIn("src/inference/conversations/ConversationServices.ts"),
  idempotencyWindowMs: actsIn("src/features/cache/Repeats.ts"),
  ...actIn("src/features/quotas/polls/due.ts", "autoRefreshProviderQuota", "autoRefreshProviderQuotaInterval"),
  ...actIn(
    "src/features/taskRouting/rules.ts", "intentDetectionEnabled", "intentSimpleMaxWords", "intentExtraCodeKeywords", "intentExtraReasoningKeywords", "intentExtraSimpleKeywords"
  ),
  ...actIn("src/routing/auto/combo.ts", "autoRoutingEnabled", "autoRoutingDefaultVariant"),
  lkgpEnabled: actsIn("src/routing/auto/lastGood.ts"),
  stripModelPrefix: actsIn("src/routing/models/askedIds.ts"),
  cliCompatProviders: lacks("vendorClients", []),
  systemTransforms: actsIn("src/routing/payload/PayloadPlans.ts"),
  usageTokenBuffer: actsIn("src/inference/lane/stages/UsageBuffer.ts"),
  skillsProvider: actsIn("src/features/skills/SkillMarkets.ts"),
  ...actIn("actors/egress/Egress.ts", "proxyEnabled", "perKeyProxyEnabled", "enableSocks5Proxy"),
  ...actIn("src/inference/conversations/words/systemPrompt.ts", "customSystemPromptEnabled", "customSystemPrompt"),
  allowGuardrailOptOut: actsIn("src/features/guardrails/OptOut.ts"),
  debugMode: lacks("logging", false),
  logToolSources: actsIn("src/features/toolPolicy/sourcesStage.ts"),
  ...actIn("src/features/bodies/CallBodies.ts", "callLogBodies", "callLogBodyShare", "callLogBodyMaxKb", "callLogBodyTotalMb", "callLogBodyHours"),
  modalityBridgeEnabled: lacks("mediaBridges", false),
  ...actIn(
    "src/features/guardrails/pictures/bridge.ts", "visionBridgeEnabled", "visionBridgeModel", "visionBridgePrompt", "visionBridgeTimeout", "visionBridgeMaxImages"
  ),
  customAgents: actsIn("src/features/cliTools/Agents.ts"),
  ...actIn("src/management/authentication/singleSignOn.ts", "oidcEnabled", "oidcIssuer", "oidcClientId", "oidcAllowedSubjects"),
  oidcClientSecret: actsIn("src/features/oidc/SignOn.ts"),
  ...actIn("src/features/pricing/sync/SyncLoop.ts", "modelsDevSyncEnabled", "modelsDevSyncInterval")
}

const modelLockout: Rows = actIn(
  "actors/resilience/ModelLockout.ts", "enabled", "errorCodes", "baseCooldownMs", "maxCooldownMs", "maxBackoffSteps", "useExponentialBackoff"
)

export const settings = ActingTable.make(
  "Setting", { ...rows, ...ActingTable.below("modelLockout", modelLockout), ...comboLayers },
  "PATCH /api/settings", "PUT /api/settings", "PATCH /api/settings/combo-defaults"
)
