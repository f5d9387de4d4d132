/**
 * The engine `aggressive`: older turns are said shorter, the older the more. New ones stay; then blanks go; then prose by rules and output
 * of commands without noise; then summaries, and output in a few lines. What stays in every mode stays here. Breaks a vendor's cache of
 * prefixes once per step of `age.ts`. Pure, in linear time.
 */
import type { AggressiveConfig, RtkConfig } from "#schemas/words/Compression.ts"
import * as Caveman from "#src/compression/caveman.ts"
import * as Lite from "#src/compression/lite.ts"
import type { Piece } from "#src/compression/Piece.ts"
import * as Grouping from "#src/compression/results/grouping.ts"
import * as Ionizer from "#src/compression/results/ionizer.ts"
import { isQuery } from "#src/compression/results/queries.ts"
import * as Reads from "#src/compression/results/reads.ts"
import * as Traces from "#src/compression/results/traces.ts"
import type { Filter } from "#src/compression/rtk/filters.ts"
import * as Rtk from "#src/compression/rtk/rtk.ts"
import * as Validation from "#src/compression/validation.ts"
import { agesOf } from "./age.ts"
import * as Summary from "./summary.ts"

/** Lines that stay of the oldest output, beside errors and sums. */
const oldestLines = 30

type Level = "verbatim" | "light" | "moderate" | "summary"

export interface Options {
  readonly config: AggressiveConfig
  readonly caveman: Caveman.Options
  readonly rtk: RtkConfig
}

export interface Said {
  readonly text: string
  readonly technique: string | null
  readonly errors: ReadonlyArray<string>
}

const levelOf = (age: number, { summarizerEnabled, thresholds: { fullSummary, light, moderate, verbatim } }: AggressiveConfig): Level =>
  age < verbatim ? "verbatim" : age >= fullSummary && summarizerEnabled ? "summary" : age >= moderate ? "moderate" : age >= light ? "light" : "verbatim"

const same = (text: string): Said => ({ text, technique: null, errors: [] })

/** The shorter text, where nothing is missing that must stay. */
const checked = (text: string, said: string, technique: string): Said => {
  if (said === text) return same(text)
  const { errors, valid } = Validation.compare(text, said, false)
  return valid ? { text: said, technique, errors } : { ...same(text), errors }
}

const output = ({ text, ...piece }: Piece, level: Level, { config: { toolStrategies }, rtk }: Options): Said => {
  const filter = piece.failed === true ? null : Rtk.filterOf(piece.command, text, rtk)
  const isOld = level !== "light"
  // Only where it is sure that no file is shown.
  const traced = toolStrategies.errorMessage && isOld && (piece.failed === true || filter !== null) ? checked(text, Traces.shorten(text), "error_message") : same(text)
  if (toolStrategies.grepSearch && isOld && Grouping.isSearch({ text, ...piece })) return checked(text, Grouping.group(text, rtk.groupingThreshold), "grep_search")
  if (toolStrategies.json && isOld && isQuery({ text, ...piece })) {
    const short = Ionizer.compress(text)
    if (short !== text) return { text: short, technique: "json", errors: [] }
  }
  if (filter === null || !toolStrategies.shellOutput) return traced
  const { technique, ...said } = shellOutput(traced.text, filter, level, rtk)
  return { ...said, technique: technique ?? traced.technique }
}

const shellOutput = (text: string, filter: Filter, level: Level, rtk: RtkConfig): Said => {
  if (level === "light") return checked(text, Lite.tidiedOutput(text), "light")
  const config = level === "summary" ? { ...rtk, maxLinesPerResult: Math.min(oldestLines, rtk.maxLinesPerResult) } : rtk
  const { text: short, validation: { errors } } = Rtk.shorten(text, filter, { config, intensity: level === "summary" ? "aggressive" : "standard" })
  return { text: short, technique: short === text ? null : "shell_output", errors }
}

const prose = (text: string, role: "user" | "assistant", level: Level, { caveman, config }: Options): Said => {
  const tidy = Lite.tidied(text)
  const short = level === "light" ? tidy : Caveman.compress(tidy, role, caveman).text
  const said = level === "summary" ? Summary.of(short, config.maxTokensPerMessage * Summary.perToken) : short
  if (said === text) return same(text)
  // Bytes of pictures in prose are named as in mode lite; all else that stays is compared.
  const { errors, valid } = Validation.compare(text, said, level !== "light" && Lite.tidied(text) === text)
  return valid ? { text: said, technique: level, errors } : { ...same(text), errors }
}

export const compress = (pieces: ReadonlyArray<Piece>, options: Options): ReadonlyArray<Said> => {
  const ages = agesOf(pieces)
  const levels = ages.map((age) => levelOf(age, options.config))
  const isOld = (i: number): boolean => pieces[i]?.frozen === false && (levels[i] === "moderate" || levels[i] === "summary")
  // What is newer than the last step may be gone in the next turn of the same step.
  const files = options.config.toolStrategies.fileContent ? Reads.superseded(pieces, isOld, (i) => (ages[i] as number) >= 0) : null
  const said = pieces.map((piece, i) => {
    const { frozen, role, text } = piece
    const level = levels[i] as Level
    const stale = files?.[i] ?? null
    if (stale !== null) return { text: stale, technique: "file_content", errors: [] }
    if (frozen || level === "verbatim" || role === "system") return same(text)
    return role === "tool" ? output(piece, level, options) : prose(text, role, level, options)
  })
  const before = pieces.reduce((sum, { text }) => sum + text.length, 0)
  const after = said.reduce((sum, { text }) => sum + text.length, 0)
  // A change that saves little is not worth a cold cache.
  return before - after < before * options.config.minSavingsThreshold ? pieces.map(({ text }) => same(text)) : said
}
