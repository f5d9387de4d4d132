/** The setting `compression`: how prompts are made shorter before they are sent. */
import * as Schema from "effect/Schema"
import { integer, listOf, partial, text } from "#schemas/api/fields.ts"

/** Who says a text. */
export type Role = "system" | "user" | "assistant" | "tool"

/** off: nothing; lite: no change of meaning; standard: caveman; rtk: output of commands; stacked: the engines of `stackedPipeline`. */
export const Mode = Schema.Literals(["off", "lite", "standard", "rtk", "stacked"])
export type Mode = typeof Mode.Type

export const EngineId = Schema.Literals(["lite", "caveman", "rtk"])
export type EngineId = typeof EngineId.Type

export const Intensity = Schema.Literals(["lite", "full", "ultra"])
export type Intensity = typeof Intensity.Type
export const RtkIntensity = Schema.Literals(["minimal", "standard", "aggressive"])
export type RtkIntensity = typeof RtkIntensity.Type
export const Language = Schema.Literals(["en", "pt-BR", "es", "de", "fr", "ja"])

const names = listOf(text(1, 100), 200)

export const CavemanConfig = Schema.Struct({
  enabled: Schema.Boolean,
  compressRoles: listOf(Schema.Literals(["user", "assistant", "system"]), 3),
  /** Names of rules that are not applied. */
  skipRules: names,
  /** Characters; a shorter text stays as it is. */
  minMessageLength: integer(0, 1_000_000),
  /** Regular expressions that are matched in linear time; a line that one of them matches stays as it is. */
  preservePatterns: listOf(text(1, 200), 50),
  intensity: Intensity
})
export interface CavemanConfig extends Schema.Schema.Type<typeof CavemanConfig> {}

export const RtkConfig = Schema.Struct({
  enabled: Schema.Boolean,
  /** minimal: noise and repeated lines; standard: long output is cut in the middle, too; aggressive: to half of that. */
  intensity: RtkIntensity,
  applyToToolResults: Schema.Boolean,
  /** Ids of filters; empty = all. */
  enabledFilters: names,
  disabledFilters: names,
  /** Lines that are kept of one output, where its filter says no other number. */
  maxLinesPerResult: integer(10, 100_000),
  maxCharsPerResult: integer(500, 10_000_000),
  /** From so many equal lines one after the other, the first stands for all. */
  deduplicateThreshold: integer(2, 1_000)
})
export interface RtkConfig extends Schema.Schema.Type<typeof RtkConfig> {}

export const LanguageConfig = Schema.Struct({
  /** False: the rules of English alone. */
  enabled: Schema.Boolean,
  defaultLanguage: Language,
  /** False: every text counts as one of defaultLanguage. */
  autoDetect: Schema.Boolean,
  enabledPacks: listOf(Language, 6)
})
export interface LanguageConfig extends Schema.Schema.Type<typeof LanguageConfig> {}

const opt = Schema.optionalKey
const { enabled: _caveman, intensity: _full, ...cavemanFields } = CavemanConfig.fields
const { enabled: _rtk, intensity: _standard, ...rtkFields } = RtkConfig.fields

/** One engine of a pipeline. `config`: over the engine's settings, in this step alone. */
export const Step = Schema.Union([
  Schema.Struct({ engine: Schema.Literal("lite") }),
  Schema.Struct({ engine: Schema.Literal("caveman"), intensity: opt(Intensity), config: opt(partial(Schema.Struct(cavemanFields))) }),
  Schema.Struct({ engine: Schema.Literal("rtk"), intensity: opt(RtkIntensity), config: opt(partial(Schema.Struct(rtkFields))) })
]).annotate({ identifier: "CompressionStep" })
export type Step = typeof Step.Type

export const Steps = Schema.Array(Step).check(Schema.isMinLength(1), Schema.isMaxLength(10))

export const CompressionSettings = Schema.Struct({
  enabled: Schema.Boolean,
  defaultMode: Mode,
  autoTriggerMode: Mode,
  /** Estimated tokens of a prompt from which autoTriggerMode holds; 0 = never. */
  autoTriggerTokens: integer(0, 10_000_000),
  /** Instructions stay as they are; an exact repetition of them is still left out. */
  preserveSystemPrompt: Schema.Boolean,
  /** Mode of a combo, by its id. */
  comboOverrides: Schema.Record(Schema.String, Mode).check(Schema.isMaxProperties(1_000)),
  /** Of mode stacked, unless another stored pipeline is the default one. */
  stackedPipeline: Steps,
  /** The stored pipeline of all requests of which nothing else says more; null = none. */
  compressionComboId: Schema.NullOr(text(1, 200)),
  cavemanConfig: CavemanConfig,
  rtkConfig: RtkConfig,
  languageConfig: LanguageConfig
})
export interface CompressionSettings extends Schema.Schema.Type<typeof CompressionSettings> {}

/** Under this name among the settings. */
export const settingKey = "compression"

export const compressionDefaults: CompressionSettings = {
  enabled: false, defaultMode: "off", autoTriggerMode: "lite", autoTriggerTokens: 0, preserveSystemPrompt: true, comboOverrides: {},
  stackedPipeline: [{ engine: "rtk", intensity: "standard" }, { engine: "caveman", intensity: "full" }],
  compressionComboId: null,
  cavemanConfig: { enabled: true, compressRoles: ["user"], skipRules: [], minMessageLength: 50, preservePatterns: [], intensity: "full" },
  rtkConfig: {
    enabled: true, intensity: "standard", applyToToolResults: true, enabledFilters: [], disabledFilters: [], maxLinesPerResult: 120,
    maxCharsPerResult: 12_000, deduplicateThreshold: 3
  },
  languageConfig: { enabled: false, defaultLanguage: "en", autoDetect: true, enabledPacks: ["en"] }
}

const isSettings = Schema.is(CompressionSettings)
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null && !Array.isArray(value)

/** Values over defaults; objects of settings member by member. */
export const over = <Value extends object>(defaults: Value, stored: unknown): Value => {
  if (!isRecord(stored)) return defaults
  const said = Object.keys(defaults).flatMap((name) => stored[name] === undefined ? [] : [[name, stored[name]]])
  return { ...defaults, ...Object.fromEntries(said) as Partial<Value> }
}

/** The effective settings; defaults for what is no longer allowed. */
export const compressionOf = (settings: ReadonlyMap<string, unknown>): CompressionSettings => {
  const stored = settings.get(settingKey)
  const whole = over(compressionDefaults, stored)
  const filled = {
    ...whole, cavemanConfig: over(compressionDefaults.cavemanConfig, whole.cavemanConfig),
    rtkConfig: over(compressionDefaults.rtkConfig, whole.rtkConfig), languageConfig: over(compressionDefaults.languageConfig, whole.languageConfig)
  }
  return isSettings(filled) ? filled : compressionDefaults
}
