/**
 * The tokens that a text has at least, whatever tokenizer its model has; about 0.45 of the real count for English prose, less for code.
 *
 * Each run of letters, digits, signs or ideographs is worth a part of a token, and less than in proportion when it is long, because
 * tokenizers keep words, rows of signs and indentation in one token. Blanks are worth nothing. For every entry of the vocabularies r50k,
 * p50k, cl100k and o200k the worth is at most one token, and the worth of a text is at most the sum of the worths of its parts: so no
 * text of these tokenizers has fewer tokens (test/wire/contextWindow).
 */
const BLANK = 0
const LETTER = 1
const DIGIT = 2
const SIGN = 3
const IDEOGRAPH = 4

/** Worths are counted in eighths of a token, and a run is worth no more than this until it is longer than any vocabulary's. */
const RUN_EIGHTHS = 6
/** Characters of one kind that are worth one eighth in a very long run. */
const LONG_LETTERS = 16
const LONG_DIGITS = 4
const LONG_SIGNS = 32
/** Ideographs of one eighth, in any run: whole phrases of them are one token. */
const IDEOGRAPHS = 2

/** The shortest text of so many tokens, characters: a text of `n` characters is worth at most `n / CHARACTERS_PER_TOKEN`. */
export const CHARACTERS_PER_TOKEN = 8

const kinds = Uint8Array.from({ length: 256 }, (_, code) =>
  code <= 32 || code === 160
    ? BLANK
    : code >= 128 || ((code | 32) >= 97 && (code | 32) <= 122) ? LETTER : code >= 48 && code <= 57 ? DIGIT : SIGN)

const kindOf = (code: number): number => {
  if (code < 256) return kinds[code] as number
  if (code >= 0x2e80) return code === 0x3000 || code === 0xfeff ? BLANK : IDEOGRAPH
  return (code >= 0x2000 && code <= 0x200f) || code === 0x2028 || code === 0x2029 ? BLANK : LETTER
}

/** Eighths of a run; a word has its blank in front of it in its token. */
const worthOf = (kind: number, length: number, afterBlank: boolean): number => {
  switch (kind) {
    case LETTER:
      return Math.max(Math.min(afterBlank ? length + 1 : length, RUN_EIGHTHS), length / LONG_LETTERS)
    case DIGIT:
      return Math.max(Math.min(length, RUN_EIGHTHS), length / LONG_DIGITS)
    case SIGN:
      // A single sign is often in the token of its word.
      return length === 1 ? 0 : Math.max(Math.min(length - 1, RUN_EIGHTHS), length / LONG_SIGNS)
    case IDEOGRAPH:
      return length / IDEOGRAPHS
    default:
      return 0
  }
}

/** Fractions of tokens are kept: a prompt is the sum of its texts. */
export const leastTokens = (text: string): number => {
  const { length } = text
  let eighths = 0
  let before = SIGN
  let from = 0
  while (from < length) {
    const kind = kindOf(text.charCodeAt(from))
    let to = from + 1
    while (to < length && kindOf(text.charCodeAt(to)) === kind) to++
    eighths += worthOf(kind, to - from, before === BLANK)
    before = kind
    from = to
  }
  return eighths / CHARACTERS_PER_TOKEN
}
