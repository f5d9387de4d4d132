/** What is wrong with an operator's filters for output: patterns, commands that print files, and examples that do not hold. Pure. */
import type * as Refusal from "#schemas/api/Refusal.ts"
import { compressionDefaults, type RtkConfig } from "#schemas/words/Compression.ts"
import type { OutputFilter } from "#schemas/words/OutputFilter.ts"
import * as Filters from "#src/compression/rtk/filters.ts"
import * as Rtk from "#src/compression/rtk/rtk.ts"
import * as LinearRegex from "#src/routing/combos/linearRegex.ts"

/** Programs that print what a client edits from. */
const printers: ReadonlySet<string> = new Set([
  "cat", "bat", "head", "tail", "sed", "awk", "nl", "less", "more", "tac", "cut", "strings", "xxd", "od", "hexdump", "diff", "patch", "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "jq", "yq", "tee", "xargs"
])
const gitPrinters: ReadonlySet<string> = new Set(["diff", "show", "grep", "blame", "cat-file", "format-patch"])

const printsFiles = (command: string): boolean => {
  const [program = "", second = ""] = command.split(" ")
  return printers.has(program) || (program === "git" && (second === "" || gitPrinters.has(second)))
}

const patternsIn = ({ match, preserve, rules }: OutputFilter): ReadonlyArray<readonly [field: string, patterns: ReadonlyArray<string>]> => [
  ["match.patterns", match.patterns], ["rules.includePatterns", rules.includePatterns], ["rules.dropPatterns", rules.dropPatterns], ["rules.collapsePatterns", rules.collapsePatterns],
  ["preserve.errorPatterns", preserve.errorPatterns], ["preserve.summaryPatterns", preserve.summaryPatterns]
]

const wrongShape = (filter: OutputFilter, at: string): ReadonlyArray<Refusal.FieldIssue> => [
  ...Filters.isBuiltIn(filter.id) ? [{ field: `${at}.id`, message: "A filter of the gateway has this id: choose another one" }] : [],
  ...filter.match.commands.flatMap((command, i) => printsFiles(command) ? [{ field: `${at}.match.commands.${i}`, message: "It prints what a client edits from: its output is never shortened" }] : []),
  ...patternsIn(filter).flatMap(([field, patterns]) => patterns.flatMap((pattern, i) => {
    const made = LinearRegex.compile(pattern)
    return made._tag === "Refused" ? [{ field: `${at}.${field}.${i}`, message: made.message }] : []
  })),
  ...LinearRegex.areTooMuch(patternsIn(filter).flatMap(([, patterns]) => patterns)) ? [{ field: at, message: "Its patterns are too large together: write fewer of them, or smaller repetitions" }] : [],
  ...filter.rules.headLines + filter.rules.tailLines === filter.rules.maxLines ? [] : [{ field: `${at}.rules.maxLines`, message: "Expected headLines + tailLines" }]
]

/** Examples that do not hold, or that are missing. */
const unproved = (filter: OutputFilter, at: string): ReadonlyArray<Refusal.FieldIssue> => {
  if (filter.tests.length === 0) return [{ field: `${at}.tests`, message: "Give an example that proves the filter, or set trustProjectFilters" }]
  const config: RtkConfig = { ...compressionDefaults.rtkConfig, customFilters: [filter] }
  return filter.tests.flatMap(({ command, expected, input }, i) => {
    const found = Filters.filterOf(command, input, config)
    if (found?.id !== filter.id) return [{ field: `${at}.tests.${i}.command`, message: "The filter is not asked for the output of this command" }]
    const { text } = Rtk.shorten(input, found, { config, intensity: "standard" })
    return text === expected ? [] : [{ field: `${at}.tests.${i}.expected`, message: `The filter makes of it ${JSON.stringify(text.slice(0, 500))}` }]
  })
}

/** `at`: where they stand, with a dot. `trusted`: examples are not asked for. */
export const issuesOf = (customFilters: RtkConfig["customFilters"], at: string, trusted: boolean): ReadonlyArray<Refusal.FieldIssue> => customFilters.flatMap((filter, i) => {
  const where = `${at}customFilters.${i}`
  const isTwice = customFilters.findIndex(({ id }) => id === filter.id) !== i
  const wrong = [...isTwice ? [{ field: `${where}.id`, message: "Another filter has this id" }] : [], ...wrongShape(filter, where)]
  return wrong.length > 0 || trusted ? wrong : unproved(filter, where)
})
