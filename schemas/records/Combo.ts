/** Combos: named routing plans of several targets, and the patterns that map model ids to them. */
import * as Schema from "effect/Schema"
import * as JsonPath from "#schemas/jsonPath.ts"
import { Mode } from "#schemas/words/Compression.ts"

const opt = Schema.optionalKey
const int = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const number = (minimum: number, maximum: number) => Schema.Finite.check(Schema.isBetween({ minimum, maximum }))
const text = (most: number) => Schema.String.check(Schema.isMaxLength(most))

/** Strategies by their canonical names; aliases are read by `strategyOf`. */
export const Strategy = Schema.Literals([
  "priority", "weighted", "round-robin", "context-relay", "fill-first", "p2c", "random", "strict-random", "least-used",
  "cost-optimized", "reset-aware", "reset-window", "headroom", "auto", "lkgp", "context-optimized", "cache-optimized", "fusion",
  "pipeline", "debate"
])
export type Strategy = typeof Strategy.Type

const aliases = {
  "usage": "least-used", "context": "context-optimized", "weekly-reset": "reset-window", "reset-window-order": "reset-window"
} as const satisfies Readonly<Record<string, Strategy>>

/** Every name that a combo's strategy may be given by. */
export const StrategyName = Schema.Literals([...Strategy.literals, ...(Object.keys(aliases) as ReadonlyArray<keyof typeof aliases>)])
export type StrategyName = typeof StrategyName.Type

/** The canonical strategy of a name. */
export const strategyOf = (name: StrategyName): Strategy => name in aliases ? aliases[name as keyof typeof aliases] : name as Strategy

export const ModelStep = Schema.Struct({
  kind: Schema.Literal("model"),
  id: Schema.String,
  /** `<provider>/<model>`, or a model of `provider`. */
  model: Schema.NonEmptyString.check(Schema.isMaxLength(300)),
  provider: Schema.NullOr(Schema.String),
  connectionId: Schema.NullOr(Schema.String),
  weight: number(0, 100),
  label: Schema.NullOr(text(200)),
  tags: Schema.Array(text(100)).check(Schema.isMaxLength(20)),
  /** System instruction of this step in a pipeline. */
  prompt: Schema.NullOr(text(20_000))
}).annotate({ identifier: "ModelStep" })
export interface ModelStep extends Schema.Schema.Type<typeof ModelStep> {}

export const ComboStep = Schema.Struct({
  kind: Schema.Literal("combo-ref"),
  id: Schema.String,
  comboName: Schema.NonEmptyString.check(Schema.isMaxLength(100)),
  weight: number(0, 100),
  label: Schema.NullOr(text(200))
}).annotate({ identifier: "ComboStep" })
export interface ComboStep extends Schema.Schema.Type<typeof ComboStep> {}

export const Step = Schema.Union([ModelStep, ComboStep])
export type Step = typeof Step.Type

/** Settings of a combo. An absent key follows the cascade: combo, provider overrides, defaults, built-in. */
export const ComboConfig = Schema.Struct({
  maxRetries: opt(int(0, 10)),
  retryDelayMs: opt(int(0, 60_000)),
  fallbackDelayMs: opt(int(0, 60_000)),
  targetTimeoutMs: opt(int(1, 3_600_000)),
  /** 0 = no cap. */
  concurrencyPerModel: opt(int(0, 1000)),
  queueTimeoutMs: opt(int(1_000, 120_000)),
  queueDepth: opt(int(0, 100)),
  failoverBeforeRetry: opt(Schema.Boolean),
  maxSetRetries: opt(int(0, 10)),
  setRetryDelayMs: opt(int(0, 60_000)),
  stickyRoundRobinLimit: opt(int(0, 1000)),
  disableSessionStickiness: opt(Schema.Boolean),
  stickyWeightedLimit: opt(int(1, 1000)),
  maxComboDepth: opt(int(1, 10)),
  nestedComboMode: opt(Schema.Literals(["flatten", "execute"])),
  trackMetrics: opt(Schema.Boolean),
  handoffThreshold: opt(number(0.5, 0.94)),
  handoffModel: opt(text(300)),
  maxMessagesForSummary: opt(int(1, 1000)),
  zeroLatencyOptimizationsEnabled: opt(Schema.Boolean),
  /** A target that said nothing for `hedgeDelayMs` is joined by the next one; the first answer wins, the other call is cut. */
  hedging: opt(Schema.Boolean),
  hedgeDelayMs: opt(int(0, 60_000)),
  predictiveTtftMs: opt(int(0, 600_000)),
  fallbackCompressionMode: opt(Mode),
  fallbackCompressionThreshold: opt(int(0, 10_000_000)),
  compressionMode: opt(Mode),
  reasoningTokenBufferEnabled: opt(Schema.Boolean),
  candidatePool: opt(Schema.Array(text(300)).check(Schema.isMaxLength(200))),
  weights: opt(Schema.Record(Schema.String, number(0, 1000))),
  modePack: opt(text(100)),
  explorationRate: opt(number(0, 1)),
  routerStrategy: opt(text(100)),
  budgetCap: opt(number(0, 1_000_000)),
  budgetFallback: opt(Schema.Literals(["cheapest", "strict"])),
  slaTargetP95Ms: opt(int(1, 3_600_000)),
  slaMaxErrorRate: opt(number(0, 1)),
  slaMaxCostPer1MTokens: opt(number(0, 1_000_000)),
  slaHardConstraints: opt(Schema.Boolean),
  compositeTiers: opt(Schema.Struct({
    defaultTier: text(100),
    tiers: Schema.Record(Schema.String, Schema.Struct({ stepId: text(200), fallbackTier: opt(Schema.NullOr(text(100))) }))
  })),
  resetAwareSessionWeight: opt(number(0, 1)),
  resetAwareWeeklyWeight: opt(number(0, 1)),
  resetAwareTieBandPercent: opt(number(0, 100)),
  resetAwareExhaustionGuardPercent: opt(number(0, 100)),
  shadowRouting: opt(Schema.Struct({
    enabled: Schema.Boolean,
    targets: opt(Schema.Array(text(300)).check(Schema.isMaxLength(20))),
    sampleRate: opt(number(0, 1)),
    maxTargets: opt(int(1, 20)),
    timeoutMs: opt(int(1, 600_000))
  })),
  evalRouting: opt(Schema.Struct({
    enabled: Schema.Boolean,
    maxAgeHours: opt(int(1, 100_000)),
    minCases: opt(int(1, 100_000)),
    qualityWeight: opt(number(0, 1)),
    latencyWeight: opt(number(0, 1)),
    cacheTtlMs: opt(int(0, 86_400_000))
  })),
  /**
   * An answer that breaks a rule is not given to the client; the next target is asked. The rules need the whole answer: a stream is
   * held until its end (up to 4 MiB) and then sent at once.
   */
  responseValidation: opt(Schema.Struct({
    forbiddenSubstrings: opt(Schema.Array(text(2_000)).check(Schema.isMaxLength(50))),
    requiredSubstrings: opt(Schema.Array(text(2_000)).check(Schema.isMaxLength(50))),
    minContentLength: opt(int(0, 10_000_000)),
    jsonPathPredicates: opt(Schema.Array(Schema.Struct({
      path: text(500).check(Schema.makeFilter((path: string) => JsonPath.parse(path) !== null || "a path of the form $.name[0]['other name']")),
      condition: Schema.Literals(["exists", "nonEmpty", "equals", "notEquals"]),
      value: opt(Schema.Json)
    })).check(Schema.isMaxLength(20)))
  }).annotate({ identifier: "ResponseValidation" })),
  contextRequirements: opt(Schema.Struct({
    minContextWindow: opt(int(0, 100_000_000)),
    preferLargeContext: opt(Schema.Boolean),
    contextFilterMode: opt(Schema.Literals(["strict", "lenient"]))
  })),
  judgeModel: opt(text(300)),
  fusionTuning: opt(Schema.Struct({
    minPanel: opt(int(1, 50)),
    stragglerGraceMs: opt(int(0, 600_000)),
    panelHardTimeoutMs: opt(int(1, 600_000))
  })),
  debateTuning: opt(Schema.Struct({ debateRounds: opt(int(1, 10)), consensusThreshold: opt(number(0, 1)) }))
}).annotate({ identifier: "ComboConfig" })
export interface ComboConfig extends Schema.Schema.Type<typeof ComboConfig> {}

/** What a provider may have of its own under every combo: settings that concern one target at a time. */
export const TargetConfig = ComboConfig.mapFields(({
  concurrencyPerModel, failoverBeforeRetry, fallbackDelayMs, hedgeDelayMs, hedging, maxRetries, queueDepth, queueTimeoutMs, responseValidation,
  retryDelayMs, targetTimeoutMs, zeroLatencyOptimizationsEnabled
}) => ({
  maxRetries, retryDelayMs, fallbackDelayMs, targetTimeoutMs, concurrencyPerModel, queueTimeoutMs, queueDepth, failoverBeforeRetry,
  zeroLatencyOptimizationsEnabled, hedging, hedgeDelayMs, responseValidation
})).annotate({
  identifier: "ComboTargetConfig",
  messageUnexpectedKey: "Unknown field, or one of a combo as a whole: set it in comboDefaults or in the config of a combo"
})
export interface TargetConfig extends Schema.Schema.Type<typeof TargetConfig> {}

/** One combo as stored. Times are ISO 8601 strings. */
export const Combo = Schema.Struct({
  id: Schema.String,
  name: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_/.\-[\] ]{1,100}$/, {
    message: "Expected 1 to 100 letters, digits, spaces, slashes, dots, dashes, underscores or square brackets"
  })),
  description: Schema.NullOr(text(2_000)),
  models: Schema.Array(Step).check(Schema.isMaxLength(200)),
  strategy: Strategy,
  config: ComboConfig,
  allowedProviders: Schema.Array(text(200)),
  system_message: Schema.NullOr(text(50_000)),
  tool_filter_regex: Schema.NullOr(text(1_000)),
  context_cache_protection: Schema.Boolean,
  context_length: Schema.NullOr(int(1_000, 2_000_000)),
  dimensions: Schema.NullOr(Schema.String.check(Schema.isPattern(/^[1-9]\d{0,5}$/, { message: "Expected a number from 1, of at most 6 digits, as text" }))),
  isActive: Schema.Boolean,
  isHidden: Schema.Boolean,
  sortOrder: Schema.Int,
  createdAt: Schema.String,
  updatedAt: Schema.String
})
export interface Combo extends Schema.Schema.Type<typeof Combo> {}

/** A pattern that sends matching model ids to a combo. */
export const ComboMapping = Schema.Struct({
  id: Schema.String,
  pattern: Schema.NonEmptyString.check(Schema.isMaxLength(500)),
  comboId: Schema.String,
  priority: Schema.Int,
  enabled: Schema.Boolean,
  description: Schema.NullOr(text(1_000)),
  createdAt: Schema.String,
  updatedAt: Schema.String
}).annotate({ identifier: "ComboMapping" })
export interface ComboMapping extends Schema.Schema.Type<typeof ComboMapping> {}
