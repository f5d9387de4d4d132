/** The setting `compression`: how prompts are made shorter before they are sent. */
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { integer, listOf, partial, text } from "#schemas/api/fields.ts"
import { OutputFilter } from "./OutputFilter.ts"

/** Who says a text. */
export type Role = "system" | "user" | "assistant" | "tool"

/** off: nothing; lite: no change of meaning; standard: caveman; aggressive, ultra: older turns; rtk: output of commands; stacked: the default pipeline. */
export const Mode = Schema.Literals(["off", "lite", "standard", "aggressive", "ultra", "rtk", "stacked"])
export type Mode = typeof Mode.Type

export const EngineId = Schema.Literals(["lite", "caveman", "rtk", "session-dedup", "ionizer", "mcpAccessibility", "aggressive", "ultra"])
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
}).annotate({ identifier: "CavemanConfig" })
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
  deduplicateThreshold: integer(2, 1_000),
  /** Of what users, and models, say: output of commands in fenced code, behind a line `$ command`. */
  applyToCodeBlocks: Schema.Boolean,
  applyToAssistantMessages: Schema.Boolean,
  /** Matches of a search name their file once, from groupingThreshold matches on. */
  enableGrouping: Schema.Boolean,
  groupingThreshold: integer(2, 1_000),
  /** Comments on lines of their own go from fenced code of the roles above. */
  stripCodeComments: Schema.Boolean,
  /** Texts for readers of an API are no comments. */
  preserveDocstrings: Schema.Boolean,
  /** Whole outputs of tools that are kept where a shorter form is sent: none, those that tell of a failure, all. */
  rawOutputRetention: Schema.Literals(["never", "failures", "always"]),
  /** Bytes of one output that are kept; the rest is cut. */
  rawOutputMaxBytes: integer(1_024, 10_485_760),
  /** False: customFilters are not used. */
  customFiltersEnabled: Schema.Boolean,
  /** Asked before the gateway's own filters. */
  customFilters: listOf(OutputFilter, 20),
  /** A filter of customFilters needs no example that proves it. */
  trustProjectFilters: Schema.Boolean
}).annotate({ identifier: "RtkConfig" })
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

/** Turns, each an answer of the model; they grow from verbatim to fullSummary. */
const turns = integer(0, 1_000)

export const AggressiveConfig = Schema.Struct({
  /** From which age on what is done; turns younger than `verbatim` stay. */
  thresholds: Schema.Struct({ fullSummary: turns, moderate: turns, light: turns, verbatim: turns }),
  /** Which results of tools may lose something. */
  toolStrategies: Schema.Struct({
    shellOutput: Schema.Boolean, json: Schema.Boolean,
    /** A file that was read again later is named. */
    fileContent: Schema.Boolean,
    /** Matches of a search name their file once. */
    grepSearch: Schema.Boolean,
    /** Long stack traces keep their first and last calls. */
    errorMessage: Schema.Boolean
  }),
  /** False: the oldest turns are as those in the middle. */
  summarizerEnabled: Schema.Boolean,
  /** Estimated tokens of a summary, beside what always stays. */
  maxTokensPerMessage: integer(1, 1_000_000),
  /** Share of the characters; a smaller gain changes nothing. */
  minSavingsThreshold: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
})
export interface AggressiveConfig extends Schema.Schema.Type<typeof AggressiveConfig> {}

export const UltraConfig = Schema.Struct({
  enabled: Schema.Boolean,
  /** Share of the words that stays at least. */
  compressionRate: Schema.Finite.check(Schema.isBetween({ minimum: 0.1, maximum: 1 })),
  /** Words with a lower score may go. */
  minScoreThreshold: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 0.5 })),
  /** Estimated tokens; a longer message becomes a summary of about this length. 0 = none does. */
  maxTokensPerMessage: integer(0, 1_000_000)
})
export interface UltraConfig extends Schema.Schema.Type<typeof UltraConfig> {}

export const AccessibilityConfig = Schema.Struct({
  enabled: Schema.Boolean,
  /** Characters that stay of one tree. */
  maxTextChars: integer(1_000, 10_000_000),
  /** Nodes of one role, one below the other, from which some go. */
  collapseThreshold: integer(3, 10_000),
  collapseKeepHead: integer(1, 10_000),
  collapseKeepTail: integer(0, 10_000),
  /** Characters; a shorter tree stays whole. */
  minLengthToProcess: integer(0, 1_000_000)
})
export interface AccessibilityConfig extends Schema.Schema.Type<typeof AccessibilityConfig> {}

export const ContextEditing = Schema.Struct({ enabled: Schema.Boolean })

const opt = Schema.optionalKey
const { enabled: _caveman, intensity: _full, ...cavemanFields } = CavemanConfig.fields
const { customFilters: _filters, enabled: _rtk, intensity: _standard, trustProjectFilters: _trust, ...rtkFields } = RtkConfig.fields

/** One engine of a pipeline. `config`: over the engine's settings, in this step alone. */
export const Step = Schema.Union([
  Schema.Struct({ engine: Schema.Literal("lite") }),
  Schema.Struct({ engine: Schema.Literal("caveman"), intensity: opt(Intensity), config: opt(partial(Schema.Struct(cavemanFields))) }),
  Schema.Struct({ engine: Schema.Literal("rtk"), intensity: opt(RtkIntensity), config: opt(partial(Schema.Struct(rtkFields))) }),
  Schema.Struct({ engine: Schema.Literals(["session-dedup", "ionizer", "mcpAccessibility", "aggressive", "ultra"]) })
]).annotate({ identifier: "CompressionStep" })
export type Step = typeof Step.Type

export const Steps = Schema.Array(Step).check(Schema.isMinLength(1), Schema.isMaxLength(10))

/** Whether models are asked for short answers. */
export const OutputMode = Schema.Struct({
  enabled: Schema.Boolean,
  intensity: Intensity,
  /** Warnings, steps that cannot be undone and misunderstandings are said in full sentences all the same. */
  autoClarity: Schema.Boolean
})
export interface OutputMode extends Schema.Schema.Type<typeof OutputMode> {}

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
  /** Descriptions of the gateway's own MCP tools are short; the flag GATEWAY_MCP_COMPRESS_DESCRIPTIONS must be on, too. */
  mcpDescriptionCompressionEnabled: Schema.Boolean,
  cavemanOutputMode: OutputMode,
  cavemanConfig: CavemanConfig,
  rtkConfig: RtkConfig,
  languageConfig: LanguageConfig,
  aggressive: AggressiveConfig,
  ultra: UltraConfig,
  mcpAccessibility: AccessibilityConfig,
  /** Vendors that can clear older results of tools from a long conversation are asked to. */
  contextEditing: ContextEditing
})
export interface CompressionSettings extends Schema.Schema.Type<typeof CompressionSettings> {}

/** Under this name among the settings. */
export const settingKey = "compression"

export const compressionDefaults: CompressionSettings = {
  enabled: false, defaultMode: "off", autoTriggerMode: "lite", autoTriggerTokens: 0, preserveSystemPrompt: true, comboOverrides: {},
  stackedPipeline: [{ engine: "rtk", intensity: "standard" }, { engine: "caveman", intensity: "full" }],
  compressionComboId: null, mcpDescriptionCompressionEnabled: true, cavemanOutputMode: { enabled: false, intensity: "full", autoClarity: true },
  cavemanConfig: { enabled: true, compressRoles: ["user"], skipRules: [], minMessageLength: 50, preservePatterns: [], intensity: "full" },
  rtkConfig: {
    enabled: true, intensity: "standard", applyToToolResults: true, enabledFilters: [], disabledFilters: [], maxLinesPerResult: 120,
    maxCharsPerResult: 12_000, deduplicateThreshold: 3, applyToCodeBlocks: false, applyToAssistantMessages: false, enableGrouping: false, groupingThreshold: 3,
    stripCodeComments: false, preserveDocstrings: true, rawOutputRetention: "never", rawOutputMaxBytes: 1_048_576,
    customFiltersEnabled: true, customFilters: [], trustProjectFilters: false
  },
  languageConfig: { enabled: false, defaultLanguage: "en", autoDetect: true, enabledPacks: ["en"] },
  aggressive: {
    thresholds: { fullSummary: 5, moderate: 3, light: 2, verbatim: 2 },
    toolStrategies: { shellOutput: true, json: true, fileContent: false, grepSearch: false, errorMessage: false }, summarizerEnabled: true,
    maxTokensPerMessage: 2_048, minSavingsThreshold: 0.05
  },
  ultra: { enabled: false, compressionRate: 0.5, minScoreThreshold: 0.3, maxTokensPerMessage: 0 },
  mcpAccessibility: { enabled: true, maxTextChars: 50_000, collapseThreshold: 30, collapseKeepHead: 10, collapseKeepTail: 5, minLengthToProcess: 2_000 },
  contextEditing: { enabled: false }
}

const isSettings = Schema.is(CompressionSettings)
/** Values over defaults; objects of settings member by member. */
export const over = <Value extends object>(defaults: Value, stored: unknown): Value => {
  if (!Predicate.isReadonlyObject(stored)) return defaults
  const said = Object.keys(defaults).flatMap((name) => stored[name] === undefined ? [] : [[name, stored[name]]])
  return { ...defaults, ...Object.fromEntries(said) as Partial<Value> }
}

/** The settings with what a change, or a store, says of them: objects member by member. */
export const changedBy = (before: CompressionSettings, change: unknown): CompressionSettings => {
  const said = Predicate.isReadonlyObject(change) ? change : {}
  const aggressive = Predicate.isReadonlyObject(said["aggressive"]) ? said["aggressive"] : {}
  return {
    ...over(before, change),
    cavemanOutputMode: over(before.cavemanOutputMode, said["cavemanOutputMode"]), cavemanConfig: over(before.cavemanConfig, said["cavemanConfig"]),
    rtkConfig: over(before.rtkConfig, said["rtkConfig"]), languageConfig: over(before.languageConfig, said["languageConfig"]),
    aggressive: {
      ...over(before.aggressive, aggressive), thresholds: over(before.aggressive.thresholds, aggressive["thresholds"]),
      toolStrategies: over(before.aggressive.toolStrategies, aggressive["toolStrategies"])
    },
    ultra: over(before.ultra, said["ultra"]), mcpAccessibility: over(before.mcpAccessibility, said["mcpAccessibility"]),
    contextEditing: over(before.contextEditing, said["contextEditing"])
  }
}

/** The effective settings; defaults for what is no longer allowed. */
export const compressionOf = (settings: ReadonlyMap<string, unknown>): CompressionSettings => {
  const filled = changedBy(compressionDefaults, settings.get(settingKey))
  return isSettings(filled) ? filled : compressionDefaults
}
