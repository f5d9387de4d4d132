/**
 * Token counts in bounded time. Byte-pair merging is quadratic in the length of a run without a boundary (100,000 blanks
 * take 5 s), so a text is counted in pieces: cut before a blank or line where there is one, hard where there is none.
 */

/** A client may write the tokenizer's own special tokens; in a text they are text. */
export const asText = { disallowedSpecial: new Set<string>() }

/** A piece is cut at the first boundary behind this length, UTF-16 units, */
const SOFT_LENGTH = 1024
/** and at this length in any case. */
const HARD_LENGTH = 1280

const isBlank = (code: number): boolean => code === 32 || code === 10

/** Where the piece that begins at `from` ends: before a blank that follows a letter, so that words keep their blank. */
const cut = (text: string, from: number): number => {
  if (text.length - from <= HARD_LENGTH) return text.length
  const hard = from + HARD_LENGTH
  for (let i = from + SOFT_LENGTH; i < hard; i++) {
    if (isBlank(text.charCodeAt(i)) && !isBlank(text.charCodeAt(i - 1))) return i
  }
  // Not between the halves of a surrogate pair.
  const code = text.charCodeAt(hard)
  return code >= 0xdc00 && code <= 0xdfff ? hard - 1 : hard
}

export const count = (text: string, countTokens: (piece: string) => number): number => {
  let tokens = 0
  let from = 0
  while (from < text.length) {
    const end = cut(text, from)
    tokens += countTokens(text.slice(from, end))
    from = end
  }
  return tokens
}
