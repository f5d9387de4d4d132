/** What is done with a request: engines with everything that they need of the settings. Plain data, so that a thread may do it. Pure. */
import { type AccessibilityConfig, type CompressionSettings, type EngineId, type LanguageConfig, type Mode, over, type Step, type UltraConfig } from "#schemas/words/Compression.ts"
import type { Pipeline } from "#schemas/words/CompressionPipeline.ts"
import type * as Caveman from "./caveman.ts"
import type * as Aggressive from "./history/aggressive.ts"
import type * as Rtk from "./rtk/rtk.ts"

/** One engine with its settings. */
export type Stage =
  | { readonly engine: "lite" | "session-dedup" | "ionizer" }
  | { readonly engine: "caveman"; readonly options: Caveman.Options }
  | { readonly engine: "rtk"; readonly options: Rtk.Options }
  | { readonly engine: "mcpAccessibility"; readonly config: AccessibilityConfig }
  | { readonly engine: "aggressive"; readonly options: Aggressive.Options }
  | { readonly engine: "ultra"; readonly config: UltraConfig }

export interface Plan {
  readonly mode: Exclude<Mode, "off">
  readonly stages: ReadonlyArray<Stage>
  /** For a request whose client marked a prefix for a vendor's cache: none of them changes what it said of an earlier turn. */
  readonly steady: ReadonlyArray<Stage>
  /** Instructions stay as they are. */
  readonly preserveSystemPrompt: boolean
  /** Whole outputs may be kept where shorter ones are sent. */
  readonly keepsRaw: boolean
}

const engineOf: Readonly<Record<Exclude<Mode, "off" | "stacked">, EngineId>> = { lite: "lite", standard: "caveman", aggressive: "aggressive", ultra: "ultra", rtk: "rtk" }

/** Engines that say a turn in other words when it is older. */
const isAgeing = ({ engine }: Stage): boolean => engine === "aggressive" || engine === "ultra"

const keepsRaw = (stage: Stage): boolean => stage.engine === "rtk" && stage.options.config.rawOutputRetention !== "never"

/** The same for a request of which nothing is kept. */
export const withoutRaw = (plan: Plan): Plan => plan.keepsRaw ? { ...plan, keepsRaw: false } : plan

/** Nothing where the engine is switched off. */
const stageOf = (step: Step, settings: CompressionSettings, languages: LanguageConfig): ReadonlyArray<Stage> => {
  const { aggressive, cavemanConfig, mcpAccessibility, rtkConfig, ultra } = settings
  switch (step.engine) {
    case "lite":
    case "session-dedup":
    case "ionizer":
      return [{ engine: step.engine }]
    case "caveman": {
      const config = over(cavemanConfig, step.config)
      return cavemanConfig.enabled ? [{ engine: "caveman", options: { config, intensity: step.intensity ?? cavemanConfig.intensity, languages } }] : []
    }
    case "rtk":
      return rtkConfig.enabled ? [{ engine: "rtk", options: { config: over(rtkConfig, step.config), intensity: step.intensity ?? rtkConfig.intensity } }] : []
    case "mcpAccessibility":
      return mcpAccessibility.enabled ? [{ engine: "mcpAccessibility", config: mcpAccessibility }] : []
    case "aggressive":
      return [{ engine: "aggressive", options: { config: aggressive, caveman: { config: cavemanConfig, intensity: cavemanConfig.intensity, languages }, rtk: rtkConfig } }]
    case "ultra":
      return ultra.enabled ? [{ engine: "ultra", config: ultra }] : []
  }
}

const ofSteps = (mode: Plan["mode"], steps: ReadonlyArray<Step>, settings: CompressionSettings, languages: LanguageConfig): Plan | null => {
  const given = steps.flatMap((step) => stageOf(step, settings, languages))
  const ageing = given.filter(isAgeing)
  // First, so that no later text refers to what they took away.
  const stages = ageing.length === 0 ? given : [...ageing, ...given.filter((stage) => !isAgeing(stage))]
  const others = stages.filter((stage) => !isAgeing(stage))
  const standard = ageing.length === 0 || others.some(({ engine }) => engine === "caveman") ? [] : stageOf({ engine: "caveman" }, settings, languages)
  return stages.length === 0 ? null : { mode, stages, steady: [...others, ...standard], preserveSystemPrompt: settings.preserveSystemPrompt, keepsRaw: stages.some(keepsRaw) }
}

/** Null where the mode's engines are switched off. */
export const ofMode = (mode: Mode, settings: CompressionSettings): Plan | null => mode === "off" ? null
  : ofSteps(mode, mode === "stacked" ? settings.stackedPipeline : [{ engine: engineOf[mode] }], settings, settings.languageConfig)

/** Of one engine, with its settings; null where it is switched off. */
export const ofEngine = (engine: EngineId, settings: CompressionSettings): Plan | null => {
  const mode = (Object.keys(engineOf) as ReadonlyArray<keyof typeof engineOf>).find((one) => engineOf[one] === engine)
  return ofSteps(mode ?? "stacked", [{ engine }], settings, settings.languageConfig)
}

/** Null where all of its engines are switched off. */
export const ofPipeline = ({ languagePacks, pipeline }: Pipeline, settings: CompressionSettings): Plan | null =>
  ofSteps("stacked", pipeline, settings, languagePacks.length === 0 ? settings.languageConfig : { ...settings.languageConfig, enabled: true, autoDetect: true, enabledPacks: languagePacks })
