/**
 * The engine `ultra`: words of older messages go that say least, by a score of their own. Names, numbers, code and everything else that
 * stays in every mode stays, and so do negations and conditions. English alone. Breaks a vendor's cache of prefixes once per step of
 * `age.ts`. Pure, in linear time.
 */
import type { UltraConfig } from "#schemas/words/Compression.ts"
import { languageOf } from "#src/compression/language.ts"
import * as Masking from "#src/compression/masking.ts"
import type { Piece } from "#src/compression/Piece.ts"
import * as Validation from "#src/compression/validation.ts"
import { agesOf } from "./age.ts"
import * as Summary from "./summary.ts"

/** Turns that stay as they are. */
const newest = 2
/** Characters; a longer text is no message but material, a shorter one says little that could go. */
const longest = 65_536
const shortest = 80
const never = (): boolean => false

const words = (list: string): ReadonlyArray<string> => list.split(" ")
/** 0 = says nothing, 1 = must stay. Other words have 0.5 or more. */
const scores = new Map<string, number>([
  ...words("a an the very really quite just simply basically actually literally certainly definitely please kindly well so oh also too rather").map((word) => [word, 0.05] as const),
  ...words("is are was were be been being am has have had having do does did that which there it its this these those i you we they me us them he she my your our their").map((word) => [word, 0.15] as const),
  ...words("of to in on at by for with as from into about then than and will would can could shall may might let get got going").map((word) => [word, 0.25] as const),
  ...words("some any each such more most much many over under between through during here now again still already one other same own").map((word) => [word, 0.4] as const),
  ...words("not no never none nothing neither nor without unless except only if else or but cannot must when until before after because while against instead should all both").map((word) => [word, 1] as const)
])
const usual = 0.5

const scoreOf = (word: string): number => scores.get(word.toLowerCase()) ?? usual

/** A word with the blank behind it, where no placeholder and no mark touches it. */
const word = /(?<![\p{L}\p{N}'’\uE000-\uE001-])[\p{L}]+(?![\p{L}\p{N}'’\uE000\uE001-])[ \t]?/gu

/** A text with fewer words. */
export const prune = (text: string, { compressionRate, minScoreThreshold }: Pick<UltraConfig, "compressionRate" | "minScoreThreshold">): string => {
  if (text.length < shortest || text.length > longest || languageOf(text) !== "en") return text
  const masked = Masking.mask(text, never)
  if (masked === null) return text
  const found = masked.text.match(word) ?? []
  const room = Math.floor(found.length * (1 - compressionRate))
  if (room === 0) return text
  const low = found.map((one) => scoreOf(one.trim())).filter((score) => score < minScoreThreshold).toSorted((a, b) => a - b)
  if (low.length === 0) return text
  /** Words below it go; of those at it, as many as there is room for, from the first one on. */
  const limit = low[Math.min(room, low.length) - 1] as number
  let atLimit = Math.min(room, low.length) - low.filter((score) => score < limit).length
  const said = masked.text.replace(word, (one) => {
    const score = scoreOf(one.trim())
    return score < limit || (score === limit && atLimit-- > 0) ? "" : one
  })
  const closed = said.replace(/[ \t]+(?=[.,;:!?)\n]|$)/g, "").replace(/[,;]+(?=[.!?])/g, "").replace(/(?<=\S)[ \t]{2,}/g, " ")
  return Masking.unmask(closed, masked.kept)
}

export interface Said {
  readonly text: string
  readonly errors: ReadonlyArray<string>
}

export const compress = (pieces: ReadonlyArray<Piece>, config: UltraConfig): ReadonlyArray<Said> => {
  const ages = agesOf(pieces)
  return pieces.map(({ frozen, role, text }, i): Said => {
    if (frozen || role === "system" || role === "tool" || (ages[i] as number) < newest) return { text, errors: [] }
    const pruned = prune(text, config)
    const most = config.maxTokensPerMessage * Summary.perToken
    const said = most > 0 && pruned.length > most ? Summary.of(pruned, most) : pruned
    if (said === text || said.trim() === "") return { text, errors: [] }
    const { errors, valid } = Validation.compare(text, said, true)
    return { text: valid ? said : text, errors }
  })
}
