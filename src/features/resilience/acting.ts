/** Which settings of resilience act. */
import { actIn, actsIn, type Rows } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"

const rows: Rows = {
  ...actIn(
    "src/features/resilience/local/rules.ts", "requestQueue.autoEnableApiKeyProviders", "requestQueue.requestsPerMinute",
    "requestQueue.minTimeBetweenRequestsMs", "requestQueue.concurrentRequests", "requestQueue.maxWaitMs", "requestQueue.executionMaxWaitMs",
    "requestQueue.maxQueueDepth", "providerQuotaOverrides.*.rpm", "providerQuotaOverrides.*.concurrency", "quotaShareConcurrencyLimit"
  ),
  "providerQuotaOverrides.*.providerConcurrency": actsIn("src/features/resilience/local/Tables.ts"),
  ...actIn(
    "src/features/resilience/ports/resilienceSettings.ts", "connectionCooldown.*.baseCooldownMs", "connectionCooldown.*.rateLimitCooldownMs",
    "connectionCooldown.*.useUpstreamRetryHints", "connectionCooldown.*.useUpstream429BreakerHints", "connectionCooldown.*.maxBackoffSteps",
    "providerCooldown.enabled", "providerCooldown.minMs", "providerCooldown.maxMs"
  ),
  ...actIn(
    "actors/resilience/ProviderBreaker.ts", "providerBreaker.*.degradationThreshold", "providerBreaker.*.failureThreshold", "providerBreaker.*.resetTimeoutMs"
  ),
  ...actIn(
    "src/features/resilience/local/WaitingRoom.ts", "waitForCooldown.enabled", "waitForCooldown.maxRetries", "waitForCooldown.maxRetryWaitSec",
    "comboCooldownWait.enabled", "comboCooldownWait.maxWaitMs", "comboCooldownWait.maxAttempts", "comboCooldownWait.budgetMs"
  ),
  ...actIn("src/features/quotas/preflight.ts", "quotaPreflight.cutoffPercent", "quotaPreflight.warningPercent", "quotaPreflight.providerWindowDefaults.*.*"),
  "credentialHealthCheck.intervalMinutes": actsIn("src/features/providers/ConnectionSweep.ts"),
  ...actIn("src/features/oauth/tokens/RefreshBreaker.ts", "tokenRefreshBreaker.failureThreshold", "tokenRefreshBreaker.cooldownMs"),
  "tokenRefreshBreaker.scope": actsIn("src/features/oauth/tokens/RefreshBreaker.ts")
}

export const resilience = ActingTable.make("Resilience setting", rows, "PATCH /api/resilience")
