/** Fields of the engines that the form shows as they are: switches, numbers, choices, and JSON. Pure. */
interface Common {
  /** Where it stands in the settings: members with dots between them. */
  readonly path: string
  readonly word: string
  readonly hint?: string
}
export type Field = Common & ({ readonly kind: "on" | "number" | "json" } | { readonly kind: "choice"; readonly choices: ReadonlyArray<string> })

const on = (path: string, word: string, hint?: string): Field => ({ path, word, kind: "on", ...(hint === undefined ? {} : { hint }) })
const number = (path: string, word: string, hint?: string): Field => ({ path, word, kind: "number", ...(hint === undefined ? {} : { hint }) })

export const ofPrompts: ReadonlyArray<Field> = [
  on("contextEditing.enabled", "Anthropic's models are asked to clear older results of tools from long conversations"),
  on("mcpDescriptionCompressionEnabled", "The gateway's own tools describe themselves in fewer words; the flag GATEWAY_MCP_COMPRESS_DESCRIPTIONS must be on, too")
]

export const ofOutputs: ReadonlyArray<Field> = [
  on("rtkConfig.applyToCodeBlocks", "For outputs that users paste: fenced code behind a line $ command"),
  on("rtkConfig.applyToAssistantMessages", "For outputs that models say, too"),
  on("rtkConfig.enableGrouping", "Matches of a search name their file once"),
  on("rtkConfig.stripCodeComments", "Comments on lines of their own go from fenced code"),
  on("rtkConfig.preserveDocstrings", "Comments for readers of an API stay"),
  on("rtkConfig.customFiltersEnabled", "Filters of your own are used"),
  on("rtkConfig.trustProjectFilters", "They need no example that proves them"),
  number("rtkConfig.groupingThreshold", "Matches are grouped from"),
  { path: "rtkConfig.rawOutputRetention", word: "Whole outputs are kept", kind: "choice", choices: ["never", "failures", "always"], hint: "failures: those with a line of an error" },
  number("rtkConfig.rawOutputMaxBytes", "Most bytes of a kept output"),
  { path: "rtkConfig.customFilters", word: "Filters of your own", kind: "json", hint: "A list of filters as JSON, as GET /api/context/rtk/filters shows them; asked before the gateway's own" }
]

export const groups: ReadonlyArray<{ readonly word: string; readonly fields: ReadonlyArray<Field> }> = [
  {
    word: "Older turns (aggressive)",
    fields: [
      on("aggressive.summarizerEnabled", "The oldest turns become summaries"),
      on("aggressive.toolStrategies.shellOutput", "Output of commands may lose something"), on("aggressive.toolStrategies.json", "JSON may lose something"),
      on("aggressive.toolStrategies.fileContent", "A file that was read again later is only named"), on("aggressive.toolStrategies.grepSearch", "Matches of a search name their file once, in older turns"),
      on("aggressive.toolStrategies.errorMessage", "Long stack traces keep their first and last calls"),
      number("aggressive.thresholds.verbatim", "Turns that stay as they are"), number("aggressive.thresholds.light", "A little shorter from turn"),
      number("aggressive.thresholds.moderate", "Shorter from turn"), number("aggressive.thresholds.fullSummary", "A summary from turn"),
      number("aggressive.maxTokensPerMessage", "Most tokens of a summary"), number("aggressive.minSavingsThreshold", "Least gain that changes a text", "0 to 1")
    ]
  },
  {
    word: "Words of older turns (ultra)",
    fields: [
      on("ultra.enabled", "The engine ultra may be used"), number("ultra.compressionRate", "Share of the words that stays at least", "0.1 to 1"),
      number("ultra.minScoreThreshold", "Words may go below the score", "0 to 0.5"), number("ultra.maxTokensPerMessage", "Messages become summaries from, tokens", "0: none does")
    ]
  },
  {
    word: "Trees of browsers (mcpAccessibility)",
    fields: [
      on("mcpAccessibility.enabled", "The engine mcpAccessibility may be used"), number("mcpAccessibility.minLengthToProcess", "Shorter trees stay, characters"), number("mcpAccessibility.maxTextChars", "Most characters of a tree"),
      number("mcpAccessibility.collapseThreshold", "Equal nodes become fewer from"), number("mcpAccessibility.collapseKeepHead", "First nodes that stay"), number("mcpAccessibility.collapseKeepTail", "Last nodes that stay")
    ]
  },
  {
    word: "Short answers",
    fields: [
      on("cavemanOutputMode.enabled", "Models are asked for short answers"), on("cavemanOutputMode.autoClarity", "Warnings and steps that cannot be undone are said in full"),
      { path: "cavemanOutputMode.intensity", word: "How short", kind: "choice", choices: ["lite", "full", "ultra"] }
    ]
  }
]

const fields = [...ofPrompts, ...ofOutputs, ...groups.flatMap((group) => group.fields)]

/** By path: switches as they are, all else as texts. */
export type Values = Readonly<Record<string, boolean | string>>

export type Members = Readonly<Record<string, unknown>>
const at = (settings: unknown, path: string): unknown => path.split(".").reduce<unknown>((value, name) => (value as Members | undefined)?.[name], settings)

export const valuesOf = (settings: Members): Values => Object.fromEntries(fields.map(({ kind, path }) => {
  const value = at(settings, path)
  return [path, kind === "on" ? value === true : kind === "json" ? JSON.stringify(value, null, 2) : String(value)]
}))

/** What a text of JSON says; the text itself where it is none, which the gateway refuses. */
const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

export const isJson = (text: string): boolean => typeof parsed(text) === "object"

/** The settings that the values say, member by member. */
export const settingsOf = (values: Values): Members => {
  const all: Record<string, unknown> = {}
  for (const { kind, path } of fields) {
    const value = values[path]
    const names = path.split(".")
    const last = names.pop() ?? ""
    let place = all
    for (const name of names) place = (place[name] ??= {}) as Record<string, unknown>
    place[last] = kind === "number" ? Number(value) : kind === "json" ? parsed(String(value)) : value
  }
  return all
}
