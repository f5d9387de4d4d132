/** The filters for output of commands: data in filters.json, compiled once, and which of them a command line has. Pure. */
import { isJson, printedBy } from "#src/compression/command.ts"
import rows from "./filters.json" with { type: "json" }

export interface Filter {
  readonly id: string
  readonly label: string
  readonly description: string
  readonly category: string
  /** Of two filters that match as many words, the higher one is taken. */
  readonly priority: number
  readonly match: {
    readonly outputTypes: ReadonlyArray<string>
    /** Program and subcommands. */
    readonly commands: ReadonlyArray<string>
    /** Lines by which an output without its command is known. */
    readonly patterns: ReadonlyArray<string>
  }
  readonly rules: {
    /** Where there are any, other lines go. */
    readonly includePatterns: ReadonlyArray<string>
    readonly dropPatterns: ReadonlyArray<string>
    /** Of lines one after the other that match the same one, the first stands for all. */
    readonly collapsePatterns: ReadonlyArray<string>
    readonly deduplicate: boolean
    /** 0 = the setting maxLinesPerResult. */
    readonly maxLines: number
    readonly headLines: number
    readonly tailLines: number
  }
  /** Lines that always stay. */
  readonly preserve: { readonly errorPatterns: ReadonlyArray<string>; readonly summaryPatterns: ReadonlyArray<string> }
  readonly tests: ReadonlyArray<{ readonly name: string; readonly command: string; readonly input: string; readonly expected: string }>
}

/** The shape is proved by test/compression/filters.test.ts, not at start. */
export const filters = rows as ReadonlyArray<Filter>

export interface Patterns {
  readonly include: RegExp | null
  readonly drop: RegExp | null
  readonly collapse: ReadonlyArray<RegExp>
  readonly keep: RegExp | null
  readonly known: RegExp | null
}

const oneOf = (patterns: ReadonlyArray<string>): RegExp | null => patterns.length === 0 ? null : new RegExp(patterns.map((pattern) => `(?:${pattern})`).join("|"))

const compiled = new Map<string, Patterns>()

export const patternsOf = ({ id, match, preserve, rules }: Filter): Patterns => {
  let patterns = compiled.get(id)
  if (patterns === undefined) {
    compiled.set(id, patterns = {
      include: oneOf(rules.includePatterns), drop: oneOf(rules.dropPatterns), collapse: rules.collapsePatterns.map((pattern) => new RegExp(pattern)),
      keep: oneOf([...preserve.errorPatterns, ...preserve.summaryPatterns]), known: oneOf(match.patterns)
    })
  }
  return patterns
}

interface Entry {
  readonly words: ReadonlyArray<string>
  readonly filter: Filter
}

/** By program; of one program, the commands with the most words first. */
const entries = new Map<string, Array<Entry>>()
for (const filter of filters) {
  for (const command of filter.match.commands) {
    const words = command.split(" ")
    const program = words[0] as string
    const own = entries.get(program)
    if (own === undefined) entries.set(program, [{ words, filter }])
    else own.push({ words, filter })
  }
}
for (const own of entries.values()) own.sort((a, b) => b.words.length - a.words.length || b.filter.priority - a.filter.priority)

/** The filter of a command line whose output this is; null where the output may not be shortened. */
export const filterOf = (command: string | null, text: string): Filter | null => {
  if (command === null) return null
  const said = printedBy(command)
  const found = said === null ? undefined : entries.get(said[0] ?? "")?.find(({ words }) => words.every((word, i) => said[i] === word))
  return found === undefined || isJson(text) ? null : found.filter
}

/** Lines of an output that are looked at to know it. */
const lookedAt = 40

/** The filter of an output whose command is not known; for trying filters, never for requests. */
export const detected = (text: string): Filter | null => {
  const lines = text.split("\n", lookedAt)
  let best: Filter | null = null
  for (const filter of filters) {
    const { known } = patternsOf(filter)
    if (known !== null && (best === null || filter.priority > best.priority) && lines.some((line) => known.test(line))) best = filter
  }
  return best
}
