/** A combo's complete configuration: built-in defaults, settings.comboDefaults, provider overrides, the combo itself. Pure. */
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { type Combo, ComboConfig } from "#schemas/records/Combo.ts"

/** Defaults never throttle: a model of a combo has no cap on calls at once. */
export const builtIn = {
  maxRetries: 1,
  retryDelayMs: 2_000,
  fallbackDelayMs: 0,
  targetTimeoutMs: 120_000,
  concurrencyPerModel: 0,
  queueTimeoutMs: 30_000,
  queueDepth: 20,
  failoverBeforeRetry: true,
  maxSetRetries: 0,
  setRetryDelayMs: 2_000,
  stickyRoundRobinLimit: 3,
  disableSessionStickiness: false,
  stickyWeightedLimit: 1,
  maxComboDepth: 3,
  nestedComboMode: "flatten",
  trackMetrics: true,
  handoffThreshold: 0.85,
  handoffModel: "",
  maxMessagesForSummary: 30,
  zeroLatencyOptimizationsEnabled: false,
  hedging: false,
  hedgeDelayMs: 500,
  predictiveTtftMs: 0,
  fallbackCompressionMode: "lite",
  fallbackCompressionThreshold: 1_000,
  reasoningTokenBufferEnabled: false,
  explorationRate: 0.05,
  budgetFallback: "cheapest",
  resetAwareSessionWeight: 0.35,
  resetAwareWeeklyWeight: 0.65,
  resetAwareTieBandPercent: 5,
  resetAwareExhaustionGuardPercent: 10,
  shadowRouting: { enabled: false, targets: [], sampleRate: 1, maxTargets: 2, timeoutMs: 30_000 },
  evalRouting: { enabled: false, maxAgeHours: 720, minCases: 1, qualityWeight: 0.85, latencyWeight: 0.15, cacheTtlMs: 60_000 },
  fusionTuning: { minPanel: 2, stragglerGraceMs: 8_000, panelHardTimeoutMs: 90_000 },
  debateTuning: { debateRounds: 2, consensusThreshold: 0.85 }
} as const satisfies ComboConfig

/** Every key that has a default is there, the members of grouped keys too; the others are there when they were set. */
export type CompleteConfig = ComboConfig & {
  readonly [Key in keyof typeof builtIn]-?: Required<NonNullable<ComboConfig[Key]>>
}

/** Keys whose members follow the cascade one by one; any other structure replaces the one below it. */
const grouped = ["shadowRouting", "evalRouting", "fusionTuning", "debateTuning", "contextRequirements"] as const

const readers = Object.entries(ComboConfig.fields).map(([key, field]) => {
  const decode = Schema.decodeUnknownOption(Schema.Struct({ [key]: field }))
  return { key, read: (value: unknown) => Option.getOrUndefined(decode({ [key]: value }))?.[key] }
})

/** The legal keys of a stored layer: settings may hold anything, and one bad key must not undo the others. */
export const readLayer = (value: unknown): ComboConfig => {
  if (!Predicate.isReadonlyObject(value)) return {}
  const layer: Record<string, unknown> = {}
  for (const { key, read } of readers) {
    if (!Object.hasOwn(value, key)) continue
    const legal = read(value[key])
    if (legal !== undefined) layer[key] = legal
  }
  return layer
}

/** `over` laid on `under`. */
export const overlay = <A extends ComboConfig>(under: A, over: ComboConfig): A => {
  const result = { ...under, ...over }
  for (const key of grouped) {
    const below = under[key]
    const above = over[key]
    if (below !== undefined && above !== undefined) Object.assign(result, { [key]: { ...below, ...above } })
  }
  return result
}

/** `zeroLatencyOptimizationsEnabled` switches hedging, prediction and fallback compression; setting one of them switches it on, unless it is set off. */
const finished = (config: CompleteConfig, said: ComboConfig): CompleteConfig => {
  const zeroLatency = said.zeroLatencyOptimizationsEnabled ??
    (config.hedging || config.predictiveTtftMs > 0 || said.fallbackCompressionMode !== undefined)
  return {
    ...config,
    stickyRoundRobinLimit: Math.max(1, config.stickyRoundRobinLimit),
    zeroLatencyOptimizationsEnabled: zeroLatency,
    hedging: zeroLatency && config.hedging,
    predictiveTtftMs: zeroLatency ? config.predictiveTtftMs : 0
  }
}

/** What is configured: a combo as a whole (null), or one of its targets' providers. */
export type Of = { readonly provider: string; readonly providerAlias: string } | null

/** Some provider has settings of its own. */
export const hasOverrides = (settings: ReadonlyMap<string, unknown>): boolean => {
  const given = settings.get("providerOverrides")
  return Predicate.isReadonlyObject(given) && Object.keys(given).length > 0
}

/** The cascade over one configuration snapshot's settings; make one per snapshot. */
export const makeConfigs = (settings: ReadonlyMap<string, unknown>): (combo: Combo, of?: Of) => CompleteConfig => {
  const sticky = readLayer({ stickyRoundRobinLimit: settings.get("stickyRoundRobinLimit") })
  const defaults = overlay(sticky, readLayer(settings.get("comboDefaults")))
  const given = settings.get("providerOverrides")
  const overrides = new Map(Predicate.isReadonlyObject(given) ? Object.entries(given).map(([name, layer]) => [name, readLayer(layer)] as const) : [])
  const remembered = new WeakMap<Combo, Map<string, CompleteConfig>>()

  return (combo, of = null) => {
    const override = of === null ? undefined : overrides.get(of.provider) ?? overrides.get(of.providerAlias)
    const name = override === undefined || of === null ? "" : of.provider
    let known = remembered.get(combo)
    if (known === undefined) remembered.set(combo, known = new Map())
    let config = known.get(name)
    if (config === undefined) {
      const said = overlay(overlay(defaults, override ?? {}), combo.config)
      known.set(name, config = finished(overlay<CompleteConfig>(builtIn, said), said))
    }
    return config
  }
}
