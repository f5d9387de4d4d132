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
  applyToCodeBlocks: lacks("compression", false),
  applyToAssistantMessages: lacks("compression", false),
  customFiltersEnabled: lacks("compression", false),
  trustProjectFilters: lacks("compression", false),
  rawOutputRetention: lacks("compression", "never"),
  rawOutputMaxBytes: lacks("compression", 1_048_576),
  enableGrouping: lacks("compression", false),
  groupingThreshold: lacks("compression"),
  stripCodeComments: lacks("compression", false),
  preserveDocstrings: lacks("compression")
}

const rows: Rows = {
  ...actIn("src/compression/effective.ts", "enabled", "defaultMode", "autoTriggerMode", "autoTriggerTokens", "comboOverrides.*", "compressionComboId"),
  ...actIn("src/compression/plan.ts", "preserveSystemPrompt", "stackedPipeline"),
  ...ActingTable.below("cavemanConfig", caveman),
  ...ActingTable.below("rtkConfig", rtk),
  ...ActingTable.below("languageConfig", actIn("src/compression/caveman.ts", "enabled", "defaultLanguage", "autoDetect", "enabledPacks")),
  cacheMinutes: lacks("compression", 5),
  mcpDescriptionCompressionEnabled: lacks("compression", true),
  cavemanOutputMode: lacks("compression", { enabled: false }),
  aggressive: lacks("compression"),
  ultra: lacks("compression", { enabled: false }),
  contextEditing: lacks("compression", { enabled: false }),
  mcpAccessibility: lacks("compression", { enabled: false })
}

export const compression = ActingTable.make("Compression", rows, "PUT /api/settings/compression")
export const cavemanConfig = ActingTable.make("Compression by rules", caveman, "PUT /api/context/caveman/config")
export const rtkConfig = ActingTable.make("Compression of output", rtk, "PUT /api/context/rtk/config")

/** What GET says of the fields that do not act: their neutral values. */
export const neutral = {
  cacheMinutes: 5, mcpDescriptionCompressionEnabled: true, cavemanOutputMode: { enabled: false }, aggressive: null, ultra: { enabled: false },
  contextEditing: { enabled: false }, mcpAccessibility: { enabled: false }
} as const
