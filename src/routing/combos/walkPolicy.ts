/** How a combo's targets are walked, from its configuration: the whole list's policy, and each provider's own under it. */
import type { WalkPolicy } from "#actors/request/ports/WalkPolicy.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import * as AnswerRules from "#src/routing/combos/answerRules.ts"
import { type CompleteConfig, hasOverrides, type makeConfigs } from "#src/routing/combos/config.ts"

const policyOf = (config: CompleteConfig): WalkPolicy => ({
  maxRetries: config.maxRetries,
  retryDelayMs: config.retryDelayMs,
  fallbackDelayMs: config.fallbackDelayMs,
  failoverBeforeRetry: config.failoverBeforeRetry,
  maxSetRetries: config.maxSetRetries,
  setRetryDelayMs: config.setRetryDelayMs,
  targetTimeoutMs: config.targetTimeoutMs,
  hedgeDelayMs: config.hedging ? config.hedgeDelayMs : null,
  answers: AnswerRules.checkOf(config.responseValidation)
})

/** Each policy is made once per configuration, which lives as long as its snapshot. */
export const makePolicies = (settings: ReadonlyMap<string, unknown>, configOf: ReturnType<typeof makeConfigs>): (combo: Combo) => WalkPolicy => {
  const overridden = hasOverrides(settings)
  const made = new WeakMap<CompleteConfig, WalkPolicy>()
  const remembered = (config: CompleteConfig, make: (config: CompleteConfig) => WalkPolicy): WalkPolicy => {
    let policy = made.get(config)
    if (policy === undefined) made.set(config, policy = make(config))
    return policy
  }
  return (combo) => remembered(configOf(combo), (config) =>
    overridden ? { ...policyOf(config), at: (target) => remembered(configOf(combo, target), policyOf) } : policyOf(config))
}
