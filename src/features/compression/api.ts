import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, alwaysProtected, reads, writes } from "#schemas/api/Access.ts"
import { Document, listOf, partial, text } from "#schemas/api/fields.ts"
import { LARGE_BYTES } from "#schemas/largeBodies.ts"
import { AccessibilityConfig, AggressiveConfig, CavemanConfig, CompressionSettings, ContextEditing, LanguageConfig, Mode, OutputMode, RtkConfig, UltraConfig } from "#schemas/words/Compression.ts"

const opt = Schema.optionalKey
const json = opt(Schema.Json)
/** Fields of engines that are not built; only their neutral value is taken. */
const unbuilt = { cacheMinutes: json }

export const CavemanChange = partial(CavemanConfig).annotate({ identifier: "CavemanChange" })
export const RtkChange = partial(RtkConfig).annotate({ identifier: "RtkChange" })

const { thresholds, toolStrategies, ...aggressive } = AggressiveConfig.fields
const AggressiveChange = Schema.Struct({
  ...partial(Schema.Struct(aggressive)).fields, thresholds: opt(partial(thresholds)),
  toolStrategies: opt(partial(toolStrategies))
})
const UltraChange = Schema.Struct({ ...partial(UltraConfig).fields, slmFallbackToAggressive: json })

/** Objects are changed member by member; lists, and comboOverrides, are replaced. */
export const CompressionChange = Schema.Struct({
  ...partial(CompressionSettings).fields, cavemanConfig: opt(CavemanChange), rtkConfig: opt(RtkChange), languageConfig: opt(partial(LanguageConfig)),
  cavemanOutputMode: opt(partial(OutputMode)), aggressive: opt(AggressiveChange), ultra: opt(UltraChange), mcpAccessibility: opt(partial(AccessibilityConfig)),
  contextEditing: opt(partial(ContextEditing)), ...unbuilt
}).annotate({ identifier: "CompressionChange" })
export interface CompressionChange extends Schema.Schema.Type<typeof CompressionChange> {}

const CompressionView = Schema.Struct({ ...CompressionSettings.fields, ...unbuilt }).annotate({ identifier: "Compression" })

const words = Schema.Array(Schema.String)
const Validation = Schema.Struct({ valid: Schema.Boolean, errors: words, warnings: words, fallbackApplied: Schema.Boolean })
/** Tokens are estimated: four bytes each. */
const measured = {
  originalTokens: Schema.Int, compressedTokens: Schema.Int, tokensSaved: Schema.Int,
  /** Percent of the original tokens. */
  savingsPct: Schema.Finite,
  techniquesUsed: words, durationMs: Schema.Finite
}

export const Preview = Schema.Struct({
  original: Schema.Array(Document),
  compressed: Schema.Array(Document),
  ...measured,
  mode: Mode,
  /** Of the rules; null in a mode without them. */
  intensity: Schema.NullOr(Schema.String),
  /** How tersely the model is asked to answer. */
  outputMode: Schema.Literals(["off", "lite", "full", "ultra"]),
  skippedReasons: words,
  /** Texts that changed, by their paths. */
  diff: Schema.Array(Schema.Struct({ path: Schema.String, before: Schema.String, after: Schema.String })),
  /** What stayed as it is inside the texts that changed. */
  preservedBlocks: words,
  ruleRemovals: Schema.Array(Schema.Struct({ rule: Schema.String, count: Schema.Int })),
  rulesApplied: words,
  validation: Validation,
  validationWarnings: words,
  validationErrors: words,
  fallbackApplied: Schema.Boolean
})
export interface Preview extends Schema.Schema.Type<typeof Preview> {}

const NewPreview = Schema.Struct({
  /** As in a chat completion. */
  messages: listOf(Document, 10_000).check(Schema.isMinLength(1)),
  mode: Mode,
  /** Over the stored settings. */
  config: opt(CompressionChange)
})

const Pack = Schema.Struct({ language: Schema.String, categories: words, ruleCount: Schema.Int })
const Rule = Schema.Struct({
  language: Schema.String, name: Schema.String, category: Schema.String, context: Schema.String, minIntensity: Schema.String, pattern: Schema.String, flags: Schema.String,
  replacement: Schema.NullOr(Schema.String), replacementMap: Schema.NullOr(Schema.Record(Schema.String, Schema.String))
})

const Filter = Schema.Struct({
  id: Schema.String, label: Schema.String, description: Schema.String, category: Schema.String, priority: Schema.Int,
  match: Schema.Struct({ outputTypes: words, commands: words, patterns: words }),
  rules: Schema.Struct({
    includePatterns: words, dropPatterns: words, collapsePatterns: words, deduplicate: Schema.Boolean, maxLines: Schema.Int, headLines: Schema.Int, tailLines: Schema.Int
  }),
  preserve: Schema.Struct({ errorPatterns: words, summaryPatterns: words }),
  tests: Schema.Array(Schema.Struct({ name: Schema.String, command: Schema.String, input: Schema.String, expected: Schema.String }))
})

const RtkTrial = Schema.Struct({
  text: text(1, LARGE_BYTES),
  /** Null or absent: the output is known by its lines. Requests only shorten the output of known commands. */
  command: opt(Schema.NullOr(text(0, 2_000))),
  /** Over the stored configuration. */
  config: opt(RtkChange)
})
const RtkTried = Schema.Struct({
  detection: Schema.Struct({ filterId: Schema.NullOr(Schema.String), label: Schema.NullOr(Schema.String), by: Schema.NullOr(Schema.Literals(["command", "output"])) }),
  original: Schema.String, compressed: Schema.String, ...measured, validation: Validation
})

const RawOutput = Schema.Struct({
  id: Schema.String, keptAt: Schema.String, text: Schema.String,
  /** Bytes of the whole output. */
  bytes: Schema.Int,
  /** The text is the beginning of the output, and not all of it. */
  cut: Schema.Boolean
})

const Saved = Schema.Struct({
  requests: Schema.Int, originalTokens: Schema.Int, compressedTokens: Schema.Int, tokensSaved: Schema.Int, savingsPct: Schema.Finite
}).annotate({ identifier: "SavedTokens" })
const breakdown = Schema.Record(Schema.String, Saved)
/** Tokens are estimated: four bytes each. */
const Analytics = Schema.Struct({
  requests: Schema.Int, totalOriginalTokens: Schema.Int, totalCompressedTokens: Schema.Int, totalSavings: Schema.Int, savingsPct: Schema.Finite,
  /** Requests of which a text failed its validation and was sent as it came. */
  validationFallbacks: Schema.Int,
  modeBreakdown: breakdown,
  /** What an engine was given, and what it made of it. */
  engineBreakdown: breakdown,
  /** By combo id; `none` = requests without a combo. */
  comboBreakdown: breakdown
})

/** How prompts are made shorter before they are sent, and what that does to a text. */
export const CompressionGroup = HttpApiGroup.make("compression").add(
  HttpApiEndpoint.get("settings", "/api/settings/compression", { success: CompressionView })
    .annotate(Access, reads).annotate(OpenApi.Summary, "How prompts are made shorter"),
  HttpApiEndpoint.put("changeSettings", "/api/settings/compression", { payload: CompressionChange, success: CompressionView })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Change the given fields of how prompts are made shorter"),
  HttpApiEndpoint.post("preview", "/api/compression/preview", { payload: NewPreview, success: Preview })
    .annotate(Access, writes).annotate(OpenApi.Summary, "What a mode does to messages; nothing is stored or sent"),
  HttpApiEndpoint.get("analytics", "/api/analytics/compression", { success: Analytics })
    .annotate(Access, reads).annotate(OpenApi.Summary, "What compression saved, by mode, engine and combo"),
  HttpApiEndpoint.get("contextAnalytics", "/api/context/analytics", { query: { since: opt(Schema.Literals(["24h", "7d", "30d", "all"])) }, success: Analytics })
    .annotate(Access, reads).annotate(OpenApi.Summary, "The same over a time (default: 24h), in whole hours"),
  HttpApiEndpoint.get("languagePacks", "/api/compression/language-packs", { success: Schema.Struct({ packs: Schema.Array(Pack) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Languages that have rules"),
  HttpApiEndpoint.get("rules", "/api/compression/rules", { success: Schema.Struct({ rules: Schema.Array(Rule) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "The rules of all languages"),
  HttpApiEndpoint.get("caveman", "/api/context/caveman/config", { success: CavemanConfig })
    .annotate(Access, reads).annotate(OpenApi.Summary, "How texts are made shorter by rules"),
  HttpApiEndpoint.put("changeCaveman", "/api/context/caveman/config", { payload: CavemanChange, success: CavemanConfig })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Change the given fields of how texts are made shorter by rules"),
  HttpApiEndpoint.get("rtk", "/api/context/rtk/config", { success: RtkConfig })
    .annotate(Access, reads).annotate(OpenApi.Summary, "How output of commands is made shorter"),
  HttpApiEndpoint.put("changeRtk", "/api/context/rtk/config", { payload: RtkChange, success: RtkConfig })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Change the given fields of how output of commands is made shorter"),
  HttpApiEndpoint.get("filters", "/api/context/rtk/filters", { success: Schema.Struct({ filters: Schema.Array(Filter) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "The filters for output of commands"),
  HttpApiEndpoint.get("rawOutput", "/api/context/rtk/raw-output/:id", { params: { id: Schema.String }, success: RawOutput })
    .annotate(Access, alwaysProtected).annotate(OpenApi.Summary, "The whole of an output that was sent shorter; each reading has an audit entry"),
  HttpApiEndpoint.post("tryRtk", "/api/context/rtk/test", { payload: RtkTrial, success: RtkTried })
    .annotate(Access, writes).annotate(OpenApi.Summary, "What the filters do to an output; nothing is stored or sent")
).annotateMerge(OpenApi.annotations({ title: "Compression", description: "How prompts are made shorter before they are sent." }))
