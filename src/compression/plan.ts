/** What is done with a request: engines with everything that they need of the settings. Plain data, so that a thread may do it. Pure. */
import { type CompressionSettings, type EngineId, type LanguageConfig, type Mode, over, type Step } from "#schemas/words/Compression.ts"
import type { Pipeline } from "#schemas/words/CompressionPipeline.ts"
import type * as Caveman from "./caveman.ts"
import type * as Rtk from "./rtk/rtk.ts"

/** One engine with its settings. */
export type Stage =
  | { readonly engine: "lite" }
  | { readonly engine: "caveman"; readonly options: Caveman.Options }
  | { readonly engine: "rtk"; readonly options: Rtk.Options }

export interface Plan {
  readonly mode: Exclude<Mode, "off">
  readonly stages: ReadonlyArray<Stage>
  /** Instructions stay as they are. */
  readonly preserveSystemPrompt: boolean
}

const engineOf: Readonly<Record<Exclude<Mode, "off" | "stacked">, EngineId>> = { lite: "lite", standard: "caveman", rtk: "rtk" }

/** Nothing where the engine is switched off. */
const stageOf = (step: Step, settings: CompressionSettings, languages: LanguageConfig): ReadonlyArray<Stage> => {
  switch (step.engine) {
    case "lite":
      return [{ engine: "lite" }]
    case "caveman": {
      const { cavemanConfig } = settings
      const config = over(cavemanConfig, step.config)
      return cavemanConfig.enabled ? [{ engine: "caveman", options: { config, intensity: step.intensity ?? cavemanConfig.intensity, languages } }] : []
    }
    case "rtk": {
      const { rtkConfig } = settings
      return rtkConfig.enabled ? [{ engine: "rtk", options: { config: over(rtkConfig, step.config), intensity: step.intensity ?? rtkConfig.intensity } }] : []
    }
  }
}

const planOf = (mode: Plan["mode"], steps: ReadonlyArray<Step>, settings: CompressionSettings, languages: LanguageConfig): Plan | null => {
  const stages = steps.flatMap((step) => stageOf(step, settings, languages))
  return stages.length === 0 ? null : { mode, stages, preserveSystemPrompt: settings.preserveSystemPrompt }
}

/** Null where the mode's engines are switched off. */
export const ofMode = (mode: Mode, settings: CompressionSettings): Plan | null => mode === "off" ? null
  : planOf(mode, mode === "stacked" ? settings.stackedPipeline : [{ engine: engineOf[mode] }], settings, settings.languageConfig)

/** Null where all of its engines are switched off. */
export const ofPipeline = ({ languagePacks, pipeline }: Pipeline, settings: CompressionSettings): Plan | null =>
  planOf("stacked", pipeline, settings, languagePacks.length === 0 ? settings.languageConfig : { ...settings.languageConfig, enabled: true, autoDetect: true, enabledPacks: languagePacks })
