/**
 * The engine `aggressive`: older turns are said shorter, the older the more. New ones stay; then blanks go; then prose by rules and output
 * of commands without noise; then summaries, and output in a few lines. What stays in every mode stays here. Breaks a vendor's cache of
 * prefixes once per step of `age.ts`. Pure, in linear time.
 */
import type { AggressiveConfig, RtkConfig } from "#schemas/words/Compression.ts"
import * as Caveman from "#src/compression/caveman.ts"
import * as Lite from "#src/compression/lite.ts"
import type { Piece } from "#src/compression/Piece.ts"
import * as Ionizer from "#src/compression/results/ionizer.ts"
import { isQuery } from "#src/compression/results/queries.ts"
import * as Rtk from "#src/compression/rtk/rtk.ts"
import * as Validation from "#src/compression/validation.ts"
import { agesOf } from "./age.ts"
import * as Summary from "./summary.ts"

/** Characters of one token. */
const perToken = 4
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

const output = ({ text, ...piece }: Piece, level: Level, { config: { toolStrategies }, rtk }: Options): Said => {
  if (toolStrategies.json && level !== "light" && isQuery({ text, ...piece })) {
    const short = Ionizer.compress(text)
    if (short !== text) return { text: short, technique: "json", errors: [] }
  }
  const filter = toolStrategies.shellOutput ? Rtk.filterOf(piece.command, text) : null
  if (filter === null) return same(text)
  if (level === "light") {
    const tidy = Lite.tidiedOutput(text)
    const { errors, valid } = Validation.compare(text, tidy, false)
    return valid && tidy !== text ? { text: tidy, technique: "light", errors } : { ...same(text), errors }
  }
  const config = level === "summary" ? { ...rtk, maxLinesPerResult: Math.min(oldestLines, rtk.maxLinesPerResult) } : rtk
  const { text: short, validation: { errors } } = Rtk.shorten(text, filter, { config, intensity: level === "summary" ? "aggressive" : "standard" })
  return { text: short, technique: short === text ? null : "shell_output", errors }
}

const prose = (text: string, role: "user" | "assistant", level: Level, { caveman, config }: Options): Said => {
  const tidy = Lite.tidied(text)
  const short = level === "light" ? tidy : Caveman.compress(tidy, role, caveman).text
  const said = level === "summary" ? Summary.of(short, config.maxTokensPerMessage * perToken) : short
  if (said === text) return same(text)
  // Bytes of pictures in prose are named as in mode lite; all else that stays is compared.
  const { errors, valid } = Validation.compare(text, said, level !== "light" && Lite.tidied(text) === text)
  return valid ? { text: said, technique: level, errors } : { ...same(text), errors }
}

export const compress = (pieces: ReadonlyArray<Piece>, options: Options): ReadonlyArray<Said> => {
  const ages = agesOf(pieces)
  const said = pieces.map((piece, i) => {
    const { frozen, role, text } = piece
    const level = levelOf(ages[i] as number, options.config)
    if (frozen || level === "verbatim" || role === "system") return same(text)
    return role === "tool" ? output(piece, level, options) : prose(text, role, level, options)
  })
  const before = pieces.reduce((sum, { text }) => sum + text.length, 0)
  const after = said.reduce((sum, { text }) => sum + text.length, 0)
  // A change that saves little is not worth a cold cache.
  return before - after < before * options.config.minSavingsThreshold ? pieces.map(({ text }) => same(text)) : said
}
