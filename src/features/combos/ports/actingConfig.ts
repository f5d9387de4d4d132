/** Which fields of a combo's `config` act, and of the layers under it. */
import { actIn, actsIn, type Rows } from "#schemas/acting/row.ts"
import { TargetConfig } from "#schemas/records/Combo.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"

export const comboConfig: Rows = {
  ...actIn("src/routing/combos/walkPolicy.ts", "maxRetries", "retryDelayMs", "fallbackDelayMs", "targetTimeoutMs", "failoverBeforeRetry",
    "maxSetRetries", "setRetryDelayMs", "hedging", "hedgeDelayMs"),
  ...actIn("src/routing/combos/targets.ts", "concurrencyPerModel", "queueTimeoutMs", "queueDepth"),
  stickyRoundRobinLimit: actsIn("src/routing/strategies/rotation.ts"),
  disableSessionStickiness: actsIn("src/routing/Router.ts"),
  stickyWeightedLimit: actsIn("src/routing/strategies/chance.ts"),
  ...actIn("src/routing/combos/expand.ts", "maxComboDepth", "nestedComboMode"),
  trackMetrics: actsIn("src/routing/Router.ts"),
  ...actIn("src/inference/conversations/ensembles/Handoffs.ts", "handoffThreshold", "handoffModel", "maxMessagesForSummary"),
  zeroLatencyOptimizationsEnabled: actsIn("src/routing/combos/config.ts"),
  predictiveTtftMs: actsIn("src/routing/strategies/filter.ts"),
  ...actIn("src/compression/effective.ts", "fallbackCompressionMode", "fallbackCompressionThreshold"),
  compressionMode: actsIn("src/compression/effective.ts"),
  reasoningTokenBufferEnabled: actsIn("src/routing/combos/reasoningBuffer.ts"),
  ...actIn("src/routing/auto/auto.ts", "candidatePool", "explorationRate", "routerStrategy"),
  "weights.*": actsIn("src/routing/auto/packs.ts"),
  modePack: actsIn("src/routing/auto/packs.ts"),
  ...actIn("src/routing/auto/budget.ts", "budgetCap", "budgetFallback"),
  ...actIn("src/routing/auto/routers.ts", "slaTargetP95Ms", "slaMaxErrorRate", "slaMaxCostPer1MTokens", "slaHardConstraints"),
  ...actIn("src/routing/strategies/preference.ts", "compositeTiers.defaultTier", "compositeTiers.tiers.*.stepId",
    "compositeTiers.tiers.*.fallbackTier", "contextRequirements.preferLargeContext"),
  ...actIn("src/routing/strategies/quota.ts", "resetAwareSessionWeight", "resetAwareWeeklyWeight", "resetAwareTieBandPercent",
    "resetAwareExhaustionGuardPercent"),
  ...actIn("src/inference/conversations/ensembles/Shadows.ts", "shadowRouting.enabled", "shadowRouting.targets", "shadowRouting.sampleRate",
    "shadowRouting.maxTargets", "shadowRouting.timeoutMs"),
  "evalRouting.enabled": actsIn("src/routing/Router.ts"),
  ...actIn("src/routing/evals.ts", "evalRouting.maxAgeHours", "evalRouting.minCases", "evalRouting.qualityWeight", "evalRouting.latencyWeight"),
  "evalRouting.cacheTtlMs": actsIn("src/features/evals/Scoreboard.ts"),
  ...actIn("src/routing/combos/answerRules.ts", "responseValidation.forbiddenSubstrings", "responseValidation.requiredSubstrings",
    "responseValidation.minContentLength", "responseValidation.jsonPathPredicates"),
  ...actIn("src/routing/strategies/filter.ts", "contextRequirements.minContextWindow", "contextRequirements.contextFilterMode"),
  judgeModel: actsIn("src/inference/conversations/ensembles/Ensembles.ts"),
  ...actIn("actors/ensemble/gather.ts", "fusionTuning.minPanel", "fusionTuning.stragglerGraceMs", "fusionTuning.panelHardTimeoutMs"),
  ...actIn("actors/ensemble/strategies.ts", "debateTuning.debateRounds", "debateTuning.consensusThreshold")
}

/** A provider's own settings act at each of its targets. */
const targetConfig: Rows = Object.fromEntries(Object.entries(comboConfig).filter(([name]) => Object.hasOwn(TargetConfig.fields, name.split(".", 1)[0] ?? "")))

/** The layers under every combo: settings `comboDefaults` and `providerOverrides`. */
export const comboLayers: Rows = { ...ActingTable.below("comboDefaults", comboConfig), ...ActingTable.below("providerOverrides.*", targetConfig) }
