/**
 * The engine `rtk`: output of commands without noise. Lines of a filter's noise go, lines that repeat are counted, long output is cut in
 * the middle. Errors, sums and lines with URLs always stay, and a marker says what is missing. A shortened output stays as it is when it
 * is shortened again. Pure, in linear time.
 */
import type { RtkConfig, RtkIntensity } from "#schemas/words/Compression.ts"
import { tidiedOutput } from "#src/compression/lite.ts"
import * as Masking from "#src/compression/masking.ts"
import * as Validation from "#src/compression/validation.ts"
import * as Filters from "./filters.ts"
import * as Raw from "./raw.ts"

export { filterOf } from "./filters.ts"

/** Characters of a line that patterns are asked about; a longer line stays. */
const longestLine = 2_000
const marker = /^\[\.{3} (\d+) (?:more lines like this|lines left out)\]$/
const repeatMarker = (count: number): string => `[... ${count} more lines like this]`
const cutMarker = (count: number): string => `[... ${count} lines left out]`
/** Part of the kept lines that is the beginning, where a filter does not say. */
const defaultHead = 2 / 3
const hasUrl = /\b(?:https?|wss?|ftp|file|git|ssh):\/\//

export interface Options {
  readonly config: RtkConfig
  readonly intensity: RtkIntensity
}

export interface Said {
  readonly text: string
  /** What was done, by name. */
  readonly techniques: ReadonlyArray<string>
  readonly validation: Validation.Validation
}

/** A line, and whether nothing may take it away. */
interface Line {
  readonly text: string
  readonly stays: boolean
}

export const allows = ({ disabledFilters, enabledFilters }: RtkConfig, { id }: Filters.Filter): boolean =>
  (enabledFilters.length === 0 || enabledFilters.includes(id)) && !disabledFilters.includes(id)

const linesOf = (text: string, { keep }: Filters.Patterns): ReadonlyArray<Line> => text.split("\n").map((line) => ({
  text: line,
  stays: line.length > longestLine || marker.test(line) || Raw.isMarker(line) || Masking.isErrorLine(line) || hasUrl.test(line) || keep?.test(line) === true
}))

const withoutNoise = (lines: ReadonlyArray<Line>, { drop, include }: Filters.Patterns): ReadonlyArray<Line> => lines.filter(({ stays, text }) =>
  stays || !(drop?.test(text) === true || (include !== null && text.trim() !== "" && !include.test(text))))

/** Neighbours that are equal, or that match the same pattern, become the first of them and their number. */
const counted = (lines: ReadonlyArray<Line>, collapse: ReadonlyArray<Filters.Pattern>, deduplicate: boolean, threshold: number): ReadonlyArray<Line> => {
  const out: Array<Line> = []
  const kindOf = ({ stays, text }: Line): number => stays || text.length > longestLine ? -1 : collapse.findIndex((pattern) => pattern.test(text))
  let i = 0
  while (i < lines.length) {
    const line = lines[i] as Line
    const kind = kindOf(line)
    let end = i + 1
    if (kind !== -1) while (end < lines.length && kindOf(lines[end] as Line) === kind) end++
    else if (deduplicate && line.text.trim() !== "" && !marker.test(line.text) && !Raw.isMarker(line.text)) while (end < lines.length && (lines[end] as Line).text === line.text) end++
    const said = repeatMarker(end - i - 1)
    if (end - i >= threshold && lengthOf(lines, i + 1, end) > said.length) out.push(line, { text: said, stays: true })
    else for (let j = i; j < end; j++) out.push(lines[j] as Line)
    i = end
  }
  return out
}

/** Characters of the lines, without the last line end. */
const lengthOf = (lines: ReadonlyArray<Line>, from: number, to: number): number => {
  let length = -1
  for (let i = from; i < to; i++) length += (lines[i] as Line).text.length + 1
  return length
}

/** Of the lines that may go, the first and the last ones, within `characters`. */
const cut = (lines: ReadonlyArray<Line>, head: number, tail: number, characters: number): ReadonlyArray<Line> => {
  const loose = lines.reduce((count, { stays }) => stays ? count : count + 1, 0)
  const length = lines.reduce((sum, { stays, text }) => stays ? sum : sum + text.length + 1, 0)
  if (loose <= head + tail && length <= characters) return lines
  const kept = new Set<number>()
  const take = (from: number, step: 1 | -1, many: number, room: number): void => {
    let [taken, used] = [0, 0]
    for (let i = from; i >= 0 && i < lines.length && taken < many; i += step) {
      const line = lines[i] as Line
      if (line.stays) continue
      if (kept.has(i) || (used += line.text.length + 1) > room) return
      kept.add(i)
      taken++
    }
  }
  const share = head / (head + tail)
  take(0, 1, head, Math.floor(characters * share))
  take(lines.length - 1, -1, tail, Math.floor(characters * (1 - share)))
  const out: Array<Line> = []
  let missing = 0
  const tell = (): void => {
    if (missing > 0) out.push({ text: cutMarker(missing), stays: true })
    missing = 0
  }
  lines.forEach((line, i) => {
    const said = marker.exec(line.text)
    // A number of lines like one that is missing is missing, too.
    if (said !== null && missing > 0) missing += Number(said[1])
    else if (line.stays || kept.has(i)) {
      tell()
      out.push(line)
    } else missing++
  })
  tell()
  return out
}

const withoutEmptyRuns = (lines: ReadonlyArray<Line>): ReadonlyArray<Line> =>
  lines.filter(({ text }, i) => text.trim() !== "" || i === 0 || i === lines.length - 1 || (lines[i - 1] as Line).text.trim() !== "")

/** The output of a command that has this filter. */
export const shorten = (text: string, filter: Filters.Filter, { config, intensity }: Options): Said => {
  const patterns = Filters.patternsOf(filter)
  const techniques: Array<string> = []
  const tidy = tidiedOutput(text)
  if (tidy !== text) techniques.push("terminal_output")
  const done = (name: string, before: ReadonlyArray<Line>, after: ReadonlyArray<Line>): ReadonlyArray<Line> => {
    if (after.length !== before.length) techniques.push(name)
    return after
  }
  const all = linesOf(tidy, patterns)
  const useful = done("dropped_noise", all, withoutEmptyRuns(withoutNoise(all, patterns)))
  const { rules } = filter
  const few = done("counted_lines", useful, counted(useful, intensity === "minimal" ? [] : patterns.collapse, rules.deduplicate, config.deduplicateThreshold))
  const said = intensity === "minimal" ? few : done("cut", few, cut(few, ...boundsOf(filter, config, intensity)))
  const short = said.map((line) => line.text).join("\n")
  const validation = Validation.compare(text, short, false)
  return validation.valid ? { text: short, techniques, validation } : { text, techniques: [], validation }
}

/** Lines at the beginning and at the end, and the characters of both. */
const boundsOf = ({ rules }: Filters.Filter, config: RtkConfig, intensity: RtkIntensity): [head: number, tail: number, characters: number] => {
  const factor = intensity === "aggressive" ? 0.5 : 1
  const most = Math.floor(factor * (rules.maxLines > 0 ? Math.min(rules.maxLines, config.maxLinesPerResult) : config.maxLinesPerResult))
  const head = Math.ceil(most * (rules.maxLines > 0 ? rules.headLines / rules.maxLines : defaultHead))
  return [head, most - head, Math.floor(config.maxCharsPerResult * factor)]
}
