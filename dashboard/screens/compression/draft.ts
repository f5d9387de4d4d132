/** How prompts are made shorter, while it is edited: texts of the form, the body that is sent, and what differs. Pure. */
import type { Answer, Body } from "../../api/contract.ts"
import type { Difference } from "../../parts/edit/Changes.tsx"

export type Settings = Answer<"GET /api/settings/compression">
export type Change = Body<"PUT /api/settings/compression">
export type Mode = Settings["defaultMode"]
export type Step = Settings["stackedPipeline"][number]
export type Engine = Step["engine"]
export type Language = Settings["languageConfig"]["defaultLanguage"]

export const modes = [
  { value: "off", word: "Off: nothing is changed" }, { value: "lite", word: "Lite: blanks, repeated texts, terminal codes" }, { value: "standard", word: "Standard: courtesies and fillers of prose" },
  { value: "rtk", word: "Output of commands: noise, repeated and middle lines" }, { value: "aggressive", word: "Aggressive: older turns become summaries" },
  { value: "ultra", word: "Ultra: words of older turns that say little go" }, { value: "stacked", word: "Stacked: the engines below, one after the other" }
] as const
/** Engines without an intensity. */
export const plainEngines = ["lite", "session-dedup", "ionizer", "mcpAccessibility", "aggressive", "ultra"] as const
export const engines = ["caveman", "rtk", ...plainEngines] as const
export const intensities = ["lite", "full", "ultra"] as const
export const rtkIntensities = ["minimal", "standard", "aggressive"] as const
export const roles = ["user", "assistant", "system"] as const
export const languages = ["en", "pt-BR", "es", "de", "fr", "ja"] as const

export const modeOf = (value: string): Mode => modes.find((mode) => mode.value === value)?.value ?? "off"

/** Numbers and lists as a form holds them: texts, one entry a line. */
export interface Draft extends Pick<Settings, "autoTriggerMode" | "comboOverrides" | "defaultMode" | "enabled" | "languageConfig" | "preserveSystemPrompt" | "stackedPipeline"> {
  readonly autoTriggerTokens: string
  readonly caveman: Pick<Settings["cavemanConfig"], "compressRoles" | "enabled" | "intensity"> & { readonly minMessageLength: string; readonly preservePatterns: string; readonly skipRules: string }
  readonly rtk: Pick<Settings["rtkConfig"], "applyToToolResults" | "enabled" | "intensity"> & {
    readonly deduplicateThreshold: string; readonly disabledFilters: string; readonly enabledFilters: string; readonly maxCharsPerResult: string; readonly maxLinesPerResult: string
  }
}

const lines = (list: ReadonlyArray<string>): string => list.join("\n")
const listOf = (text: string): ReadonlyArray<string> => text.split("\n").map((line) => line.trim()).filter((line) => line !== "")
/** A pattern may begin or end with a blank. */
const patternsOf = (text: string): ReadonlyArray<string> => text.split("\n").filter((line) => line !== "")

export const draftOf = ({ autoTriggerMode, autoTriggerTokens, cavemanConfig, comboOverrides, defaultMode, enabled, languageConfig, preserveSystemPrompt, rtkConfig, stackedPipeline }: Settings): Draft => ({
  autoTriggerMode, comboOverrides, defaultMode, enabled, languageConfig, preserveSystemPrompt, stackedPipeline, autoTriggerTokens: String(autoTriggerTokens),
  caveman: { compressRoles: cavemanConfig.compressRoles, enabled: cavemanConfig.enabled, intensity: cavemanConfig.intensity, minMessageLength: String(cavemanConfig.minMessageLength), preservePatterns: lines(cavemanConfig.preservePatterns), skipRules: lines(cavemanConfig.skipRules) },
  rtk: {
    applyToToolResults: rtkConfig.applyToToolResults, enabled: rtkConfig.enabled, intensity: rtkConfig.intensity, deduplicateThreshold: String(rtkConfig.deduplicateThreshold), disabledFilters: lines(rtkConfig.disabledFilters),
    enabledFilters: lines(rtkConfig.enabledFilters), maxCharsPerResult: String(rtkConfig.maxCharsPerResult), maxLinesPerResult: String(rtkConfig.maxLinesPerResult)
  }
})

const whole = ({ autoTriggerMode, autoTriggerTokens, caveman, comboOverrides, defaultMode, enabled, languageConfig, preserveSystemPrompt, rtk, stackedPipeline }: Draft) => ({
  enabled, defaultMode, autoTriggerMode, autoTriggerTokens: Number(autoTriggerTokens), preserveSystemPrompt, comboOverrides, stackedPipeline,
  cavemanConfig: { ...caveman, minMessageLength: Number(caveman.minMessageLength), preservePatterns: patternsOf(caveman.preservePatterns), skipRules: listOf(caveman.skipRules) },
  rtkConfig: {
    ...rtk, deduplicateThreshold: Number(rtk.deduplicateThreshold), disabledFilters: listOf(rtk.disabledFilters), enabledFilters: listOf(rtk.enabledFilters), maxCharsPerResult: Number(rtk.maxCharsPerResult),
    maxLinesPerResult: Number(rtk.maxLinesPerResult)
  },
  languageConfig
})

type Members = Readonly<Record<string, unknown>>
/** They are changed member by member; all others are replaced. */
const nested = ["cavemanConfig", "rtkConfig", "languageConfig"]
const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)
const changed = (now: Members, before: Members): Members => Object.fromEntries(Object.entries(now).flatMap(([name, value]) => {
  if (isSame(value, before[name])) return []
  return [[name, nested.includes(name) ? changed(value as Members, before[name] as Members) : value]]
}))

/** Only what differs; an order of names is no difference. */
export const changeOf = (draft: Draft, stored: Settings): Change => changed(whole(draft), whole(draftOf(stored)))

/** The fields that a change names, as they are stored: what takes the change back. */
export const inverseOf = (change: Change, stored: Settings): Change => {
  const before: Members = whole(draftOf(stored))
  return Object.fromEntries(Object.keys(change).map((name) => [name, before[name]]))
}

const stepWord = ({ engine, ...step }: Step): string => "intensity" in step && step.intensity !== undefined ? `${engine} (${step.intensity})` : engine
const shown = (name: string, value: unknown): string =>
  name === "stackedPipeline" ? (value as Settings["stackedPipeline"]).map(stepWord).join(", then ") : Array.isArray(value) ? value.join(", ") : typeof value === "object" ? Object.entries(value as Members).map(([key, one]) => `${key}: ${String(one)}`).join(", ") : String(value)

/** A line for each member. */
export const differencesOf = (draft: Draft, stored: Settings): ReadonlyArray<Difference> => {
  const before: Members = whole(draftOf(stored))
  const change: Members = { ...changeOf(draft, stored) }
  return Object.entries(change).flatMap(([name, value]) => {
    if (!nested.includes(name)) return [{ what: name, before: shown(name, before[name]), after: shown(name, value) }]
    return Object.entries(value as Members).map(([member, after]) => ({ what: `${name}.${member}`, before: shown(member, (before[name] as Members)[member]), after: shown(member, after) }))
  })
}
