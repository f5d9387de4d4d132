/** How prompts are made shorter, while it is edited: texts of the form, the body that is sent, and what differs. Pure. */
import type { Answer, Body } from "../../api/contract.ts"
import { linesOf } from "../../format/lines.ts"
import type { Difference } from "../../parts/edit/Changes.tsx"
import { type Members, settingsOf, type Values, valuesOf } from "./fieldTable.ts"

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
  /** Fields that the form shows as they are. */
  readonly more: Values
  readonly caveman: Pick<Settings["cavemanConfig"], "compressRoles" | "enabled" | "intensity"> & { readonly minMessageLength: string; readonly preservePatterns: string; readonly skipRules: string }
  readonly rtk: Pick<Settings["rtkConfig"], "applyToToolResults" | "enabled" | "intensity"> & {
    readonly deduplicateThreshold: string; readonly disabledFilters: string; readonly enabledFilters: string; readonly maxCharsPerResult: string; readonly maxLinesPerResult: string
  }
}

const lines = (list: ReadonlyArray<string>): string => list.join("\n")
/** A pattern may begin or end with a blank. */
const patternsOf = (text: string): ReadonlyArray<string> => text.split("\n").filter((line) => line !== "")

export const draftOf = ({ autoTriggerMode, autoTriggerTokens, cavemanConfig, comboOverrides, defaultMode, enabled, languageConfig, preserveSystemPrompt, rtkConfig, stackedPipeline, ...others }: Settings): Draft => ({
  more: valuesOf({ ...others, rtkConfig }), autoTriggerMode, comboOverrides, defaultMode, enabled, languageConfig, preserveSystemPrompt, stackedPipeline, autoTriggerTokens: String(autoTriggerTokens),
  caveman: { compressRoles: cavemanConfig.compressRoles, enabled: cavemanConfig.enabled, intensity: cavemanConfig.intensity, minMessageLength: String(cavemanConfig.minMessageLength), preservePatterns: lines(cavemanConfig.preservePatterns), skipRules: lines(cavemanConfig.skipRules) },
  rtk: {
    applyToToolResults: rtkConfig.applyToToolResults, enabled: rtkConfig.enabled, intensity: rtkConfig.intensity, deduplicateThreshold: String(rtkConfig.deduplicateThreshold), disabledFilters: lines(rtkConfig.disabledFilters),
    enabledFilters: lines(rtkConfig.enabledFilters), maxCharsPerResult: String(rtkConfig.maxCharsPerResult), maxLinesPerResult: String(rtkConfig.maxLinesPerResult)
  }
})

const whole = ({ more, ...draft }: Draft): Members => merged(settingsOf(more), wholeOf(draft))

const wholeOf = ({ autoTriggerMode, autoTriggerTokens, caveman, comboOverrides, defaultMode, enabled, languageConfig, preserveSystemPrompt, rtk, stackedPipeline }: Omit<Draft, "more">): Members => ({
  enabled, defaultMode, autoTriggerMode, autoTriggerTokens: Number(autoTriggerTokens), preserveSystemPrompt, comboOverrides, stackedPipeline,
  cavemanConfig: { ...caveman, minMessageLength: Number(caveman.minMessageLength), preservePatterns: patternsOf(caveman.preservePatterns), skipRules: linesOf(caveman.skipRules) },
  rtkConfig: {
    ...rtk, deduplicateThreshold: Number(rtk.deduplicateThreshold), disabledFilters: linesOf(rtk.disabledFilters), enabledFilters: linesOf(rtk.enabledFilters), maxCharsPerResult: Number(rtk.maxCharsPerResult),
    maxLinesPerResult: Number(rtk.maxLinesPerResult)
  },
  languageConfig
})

/** They are changed member by member; all others are replaced. */
const nested = ["cavemanConfig", "rtkConfig", "languageConfig", "contextEditing", "aggressive", "thresholds", "toolStrategies", "ultra", "mcpAccessibility", "cavemanOutputMode"]
/** Both, and of what is nested the members of both. */
const merged = (one: Members, other: Members): Members => ({ ...one, ...other, ...Object.fromEntries(nested.flatMap((name) => name in one && name in other ? [[name, { ...one[name] as Members, ...other[name] as Members }]] : [])) })
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
  name === "stackedPipeline" ? (value as Settings["stackedPipeline"]).map(stepWord).join(", then ") : Array.isArray(value) ? value.map((one: unknown) => typeof one === "object" && one !== null && "id" in one ? one.id : one).join(", ") : typeof value === "object" ? Object.entries(value as Members).map(([key, one]) => `${key}: ${String(one)}`).join(", ") : String(value)

const linesBelow = (path: string, change: Members, before: Members): ReadonlyArray<Difference> => Object.entries(change).flatMap(([name, after]) => {
  const what = `${path}${name}`
  return nested.includes(name) ? linesBelow(`${what}.`, after as Members, before[name] as Members) : [{ what, before: shown(name, before[name]), after: shown(name, after) }]
})

/** A line for each member. */
export const differencesOf = (draft: Draft, stored: Settings): ReadonlyArray<Difference> => linesBelow("", { ...changeOf(draft, stored) }, whole(draftOf(stored)))
