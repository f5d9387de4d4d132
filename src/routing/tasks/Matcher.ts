/** Finds the words of a list in a text, each counted once. Pure. */
import { type Language, languages, type Lexicon } from "./words.ts"

/** What was found: different words, and where the first of them begins. */
export interface Found {
  readonly count: number
  /** Infinity when nothing was found. */
  readonly first: number
}

/** Different words that are counted of one list. */
const MOST = 8

export const nothing: Found = { count: 0, first: Infinity }

/** Languages without spaces between words. */
const unspaced: ReadonlySet<Language> = new Set(["zh"])

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")

/** As texts are compared: composed, in lower case. */
export const plain = (text: string): string => text.normalize("NFC").toLowerCase()

const formOf = (word: string): string => word.endsWith("*") ? `${escaped(word.slice(0, -1))}\\p{L}*` : escaped(word)

/** Longer words first, so that each is found whole. */
const alternatives = (words: ReadonlyArray<string>): string => [...new Set(words)].sort((a, b) => b.length - a.length).join("|")

export class Matcher {
  /** Null for an empty list. */
  readonly #pattern: RegExp | null

  /** `extra`: an operator's words, searched as they stand. */
  constructor(lexicon: Lexicon | null, extra: ReadonlyArray<string> = []) {
    const spaced = lexicon === null ? [] : languages.filter((language) => !unspaced.has(language)).flatMap((language) => lexicon[language])
    const bare = lexicon === null ? [] : languages.filter((language) => unspaced.has(language)).flatMap((language) => lexicon[language])
    const added = extra.map((word) => plain(word.trim())).filter((word) => word !== "")
    // A word of letters that are written without spaces stands inside other letters.
    const isBare = (word: string): boolean => /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(word)
    const words = [...spaced.map(plain).map(formOf), ...added.filter((word) => !isBare(word)).map(escaped)]
    const parts = [
      ...(words.length === 0 ? [] : [`(?<![\\p{L}\\p{N}_])(?:${alternatives(words)})(?![\\p{L}\\p{N}_])`]),
      ...(bare.length + added.length === 0 ? [] : [...bare, ...added.filter(isBare)].map(escaped))
    ]
    this.#pattern = parts.length === 0 ? null : new RegExp(parts.join("|"), "gu")
  }

  /** `text` as `plain` makes it. */
  find(text: string): Found {
    if (this.#pattern === null) return nothing
    const seen = new Set<string>()
    let first = Infinity
    for (const { 0: word, index } of text.matchAll(this.#pattern)) {
      if (first === Infinity) first = index
      seen.add(word)
      if (seen.size >= MOST) break
    }
    return { count: seen.size, first }
  }

  has(text: string): boolean {
    return this.find(text).count > 0
  }
}
