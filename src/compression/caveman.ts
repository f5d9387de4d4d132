/**
 * The engine `caveman`: rules of a language take words away that say nothing, or say them shorter. Only prose is changed (`masking.ts`).
 * Applied until nothing changes any more, so that a compressed text stays as it is. Pure, in linear time.
 */
import type { CavemanConfig, Intensity, LanguageConfig, Role } from "#schemas/words/Compression.ts"
import * as LinearRegex from "#src/routing/combos/linearRegex.ts"
import { languageOf } from "./language.ts"
import * as Masking from "./masking.ts"
import { type Language, packOf, type Rule } from "./packs/index.ts"
import * as Validation from "./validation.ts"

/** Characters; a longer text is no message but material. */
const LONGEST_TEXT = 65_536
/** A text that still changes after so many rounds is left alone. */
const mostRounds = 6
/** Characters of a line that preservePatterns are asked about. */
const longestLine = 2_000

const strength: Readonly<Record<Intensity, number>> = { lite: 0, full: 1, ultra: 2 }

interface Compiled extends Rule {
  readonly regex: RegExp
}

const compiled = new Map<Language, ReadonlyArray<Compiled>>()
const rulesOf = (language: Language): ReadonlyArray<Compiled> => {
  let rules = compiled.get(language)
  if (rules === undefined) compiled.set(language, rules = packOf(language).rules.map((rule) => ({ ...rule, regex: new RegExp(rule.pattern, rule.flags) })))
  return rules
}

/** What was changed by which rule. */
export interface Removal {
  readonly rule: string
  readonly count: number
}

export interface Said {
  readonly text: string
  readonly removals: ReadonlyArray<Removal>
  /** Why the text is the original; null when it is not, or when no rule matched. */
  readonly skipped: string | null
  readonly validation: Validation.Validation
}

export interface Options {
  readonly config: CavemanConfig
  readonly intensity: Intensity
  readonly languages: LanguageConfig
}

const isUpper = (text: string): boolean => text !== text.toLowerCase()

const replacementOf = ({ replacement, replacementMap }: Rule, match: string): string => {
  const said = replacementMap === undefined ? replacement ?? "" : replacementMap[match.toLowerCase()] ?? match
  if (said === "") return Masking.GAP
  return isUpper(match[0] as string) ? (said[0] as string).toUpperCase() + said.slice(1) : said
}

/** Blanks around what was taken away become one, or none beside a stop or at an end of a line. */
const closed = (text: string): string => text
  .replace(/[ \t]?\uE002(?:[ \t]*\uE002)*[ \t]?/g, Masking.GAP)
  .replace(/(^|\n|[([])\uE002+[,]?[ ]?/g, "$1")
  .replace(/,?\uE002+(?=[.,;:!?)\]\n]|$)/g, "")
  .replace(/\uE002+/g, " ")

const round = (masked: Masking.Masked, rules: ReadonlyArray<Compiled>, counts: Map<string, number>): string => {
  let prose = masked.text
  for (const rule of rules) {
    let count = 0
    const next = prose.replace(rule.regex, (match) => {
      count++
      return replacementOf(rule, match)
    })
    if (count === 0) continue
    prose = closed(next)
    counts.set(rule.name, (counts.get(rule.name) ?? 0) + count)
  }
  return Masking.unmask(prose, masked.kept)
}

const keepers = new WeakMap<CavemanConfig, (line: string) => boolean>()
const nothingKept = (): boolean => false

/** Lines that the operator wants to stay. */
const keeperOf = (config: CavemanConfig): (line: string) => boolean => {
  if (config.preservePatterns.length === 0) return nothingKept
  let keeper = keepers.get(config)
  if (keeper === undefined) {
    const patterns = config.preservePatterns.flatMap((pattern) => {
      const made = LinearRegex.compile(pattern, longestLine)
      return made._tag === "Pattern" ? [made] : []
    })
    keepers.set(config, keeper = (line) => line.length > longestLine || patterns.some((pattern) => pattern.matches(line)))
  }
  return keeper
}

/** The language whose rules a text gets; null = none. */
const languageFor = (text: string, { autoDetect, defaultLanguage, enabled, enabledPacks }: LanguageConfig): Language | null => {
  const language = enabled && !autoDetect ? defaultLanguage : languageOf(text)
  const allowed: ReadonlyArray<Language> = enabled ? enabledPacks : ["en"]
  return language !== null && allowed.includes(language) ? language : null
}

const valid: Validation.Validation = { valid: true, errors: [] }
const unchanged = (text: string, skipped: string | null): Said => ({ text, removals: [], skipped, validation: valid })

/** Of one text of a role. */
export const compress = (text: string, role: Exclude<Role, "tool">, { config, intensity, languages }: Options): Said => {
  if (text.length < config.minMessageLength) return unchanged(text, "too_short")
  if (text.length > LONGEST_TEXT) return unchanged(text, "too_long")
  const language = languageFor(text, languages)
  if (language === null) return unchanged(text, "unknown_language")
  const rules = rulesOf(language).filter(({ context, minIntensity, name }) =>
    strength[minIntensity] <= strength[intensity] && (context === "all" || context === role) && !config.skipRules.includes(name))
  const isKept = keeperOf(config)
  const counts = new Map<string, number>()
  const before = Masking.mask(text, isKept)
  let masked = before
  let now = text
  for (let i = 0; i < mostRounds && masked !== null; i++) {
    const next = round(masked, rules, counts)
    if (next === now) return finished(text, now, counts, { before, after: masked })
    now = next
    masked = Masking.mask(now, isKept)
  }
  return unchanged(text, masked === null ? "reserved_characters" : "unstable")
}

const finished = (text: string, now: string, counts: ReadonlyMap<string, number>, read: Validation.Read): Said => {
  if (now === text) return unchanged(text, null)
  if (now.trim() === "") return unchanged(text, "nothing_left")
  const validation = Validation.compare(text, now, true, read)
  return validation.valid
    ? { text: now, removals: [...counts].map(([rule, count]) => ({ rule, count })), skipped: null, validation }
    : { text, removals: [], skipped: "validation_failed", validation }
}
