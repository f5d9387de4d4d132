/** Which fields of the settings of compression act. The others belong to engines that are not built: only their neutral value is taken. */
import { actIn, actsIn, lacks, type Rows } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"

const caveman: Rows = {
  enabled: actsIn("src/compression/plan.ts"),
  compressRoles: actsIn("src/compression/compress.ts"),
  ...actIn("src/compression/caveman.ts", "skipRules", "minMessageLength", "preservePatterns", "intensity")
}

const rtk: Rows = {
  enabled: actsIn("src/compression/plan.ts"),
  applyToToolResults: actsIn("src/compression/compress.ts"),
  ...actIn("src/compression/rtk/rtk.ts", "intensity", "enabledFilters", "disabledFilters", "maxLinesPerResult", "maxCharsPerResult", "deduplicateThreshold"),
  ...actIn("src/compression/code/blocks.ts", "applyToCodeBlocks", "applyToAssistantMessages", "stripCodeComments", "preserveDocstrings"),
  ...actIn("src/compression/compress.ts", "enableGrouping", "groupingThreshold"),
  ...actIn("src/compression/rtk/filters.ts", "customFiltersEnabled", "customFilters"),
  trustProjectFilters: actsIn("src/features/compression/ownFilters.ts"),
  ...actIn("src/compression/rtk/raw.ts", "rawOutputRetention", "rawOutputMaxBytes")
}

const rows: Rows = {
  ...actIn("src/compression/effective.ts", "enabled", "defaultMode", "autoTriggerMode", "autoTriggerTokens", "comboOverrides.*", "compressionComboId"),
  ...actIn("src/compression/plan.ts", "preserveSystemPrompt", "stackedPipeline"),
  ...ActingTable.below("cavemanConfig", caveman),
  ...ActingTable.below("rtkConfig", rtk),
  ...ActingTable.below("languageConfig", actIn("src/compression/caveman.ts", "enabled", "defaultLanguage", "autoDetect", "enabledPacks")),
  cacheMinutes: lacks("compression", 5),
  mcpDescriptionCompressionEnabled: actsIn("src/features/mcp/tools/briefs.ts"),
  ...ActingTable.below("cavemanOutputMode", { enabled: actsIn("src/compression/effective.ts"), ...actIn("src/compression/terse.ts", "intensity", "autoClarity") }),
  ...ActingTable.below("aggressive", {
    ...actIn("src/compression/history/aggressive.ts", "thresholds.fullSummary", "thresholds.moderate", "thresholds.light", "thresholds.verbatim", "toolStrategies.shellOutput",
      "toolStrategies.json", "toolStrategies.fileContent", "toolStrategies.grepSearch", "toolStrategies.errorMessage", "summarizerEnabled", "maxTokensPerMessage", "minSavingsThreshold")
  }),
  ...ActingTable.below("ultra", {
    enabled: actsIn("src/compression/plan.ts"), ...actIn("src/compression/history/ultra.ts", "compressionRate", "minScoreThreshold", "maxTokensPerMessage"),
    slmFallbackToAggressive: lacks("compression", true)
  }),
  "contextEditing.enabled": actsIn("src/compression/effective.ts"),
  ...ActingTable.below("mcpAccessibility", {
    enabled: actsIn("src/compression/plan.ts"),
    ...actIn("src/compression/results/accessibility.ts", "maxTextChars", "collapseThreshold", "collapseKeepHead", "collapseKeepTail", "minLengthToProcess")
  })
}

export const compression = ActingTable.make("Compression", rows, "PUT /api/settings/compression")
export const cavemanConfig = ActingTable.make("Compression by rules", caveman, "PUT /api/context/caveman/config")
export const rtkConfig = ActingTable.make("Compression of output", rtk, "PUT /api/context/rtk/config")

/** What GET says of the fields that do not act: their neutral values. */
export const neutral = { cacheMinutes: 5 } as const
