/** The filters for output of commands: data in filters.json, compiled once, and which of them a command line has. Pure. */
import type { RtkConfig } from "#schemas/words/Compression.ts"
import { isJson, printedBy } from "#src/compression/command.ts"
import * as LinearRegex from "#src/routing/combos/linearRegex.ts"
import { Generations } from "#src/routing/models/Generations.ts"
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

/** What a line is asked. */
export interface Pattern {
  readonly test: (line: string) => boolean
}

export interface Patterns {
  readonly include: Pattern | null
  readonly drop: Pattern | null
  readonly collapse: ReadonlyArray<Pattern>
  readonly keep: Pattern | null
  readonly known: Pattern | null
}

const oneOf = (patterns: ReadonlyArray<string>): RegExp | null => patterns.length === 0 ? null : new RegExp(patterns.map((pattern) => `(?:${pattern})`).join("|"))

const compiled = new Map<string, Patterns>()

/** Characters of a line that an operator's patterns are asked about. */
const longestLine = 2_000
/** An operator's patterns, compiled: a thread is given their texts with each request. */
const linear = new Generations<Pattern>(1_000)
const never: Pattern = { test: () => false }

const linearOf = (pattern: string): Pattern => {
  let known = linear.get(pattern)
  if (known === undefined) {
    const made = LinearRegex.compile(pattern, longestLine)
    linear.set(pattern, known = made._tag === "Refused" ? never : { test: made.matches })
  }
  return known
}

const anyOf = (patterns: ReadonlyArray<string>): Pattern | null => {
  if (patterns.length === 0) return null
  const all = patterns.map(linearOf)
  return { test: (line) => all.some((pattern) => pattern.test(line)) }
}

/** Of an operator's filter. */
const ownPatterns = ({ match, preserve, rules }: Filter): Patterns => ({
  include: anyOf(rules.includePatterns), drop: anyOf(rules.dropPatterns), collapse: rules.collapsePatterns.map(linearOf),
  keep: anyOf([...preserve.errorPatterns, ...preserve.summaryPatterns]), known: anyOf(match.patterns)
})

const builtIn = new Set(filters.map(({ id }) => id))
export const isBuiltIn = (id: string): boolean => builtIn.has(id)

export const patternsOf = (filter: Filter): Patterns => {
  const { id, match, preserve, rules } = filter
  if (!builtIn.has(id)) return ownPatterns(filter)
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

const matches = (words: ReadonlyArray<string>, said: ReadonlyArray<string>): boolean => words.every((word, i) => said[i] === word)

/** Characters; a longer output is left to the gateway's own filters. */
const longestOwn = 262_144

/** The operator's filter that matches the most words, of those the one of the highest priority. */
const ownOf = ({ customFilters }: RtkConfig, said: ReadonlyArray<string>): Filter | null => {
  let best: Filter | null = null
  let most = 0
  for (const filter of customFilters) {
    for (const command of filter.match.commands) {
      const words = command.split(" ")
      if (!matches(words, said) || words.length < most || (words.length === most && best !== null && filter.priority <= best.priority)) continue
      best = filter
      most = words.length
    }
  }
  return best
}

const hasOwn = ({ customFilters, customFiltersEnabled }: RtkConfig): boolean => customFiltersEnabled && customFilters.length > 0

/** The filter of a command line whose output this is; null where the output may not be shortened. `config`: of which the operator's filters are asked first. */
export const filterOf = (command: string | null, text: string, config?: RtkConfig): Filter | null => {
  if (command === null) return null
  const said = printedBy(command)
  if (said === null) return null
  const own = config !== undefined && hasOwn(config) && text.length <= longestOwn ? ownOf(config, said) : null
  const found = own ?? entries.get(said[0] ?? "")?.find(({ words }) => matches(words, said))?.filter
  return found === undefined || isJson(text) ? null : found
}

/** Lines of an output that are looked at to know it. */
const lookedAt = 40

/** The filter of an output whose command is not known; for trying filters, never for requests. */
export const detected = (text: string, config?: RtkConfig): Filter | null => {
  const lines = text.split("\n", lookedAt)
  let best: Filter | null = null
  for (const filter of config !== undefined && hasOwn(config) ? [...config.customFilters, ...filters] : filters) {
    const { known } = patternsOf(filter)
    if (known !== null && (best === null || filter.priority > best.priority) && lines.some((line) => known.test(line))) best = filter
  }
  return best
}
