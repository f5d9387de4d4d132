/** Kinds of characters, by their UTF-16 code. */

export const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39

/** Latin letters with their accents, as names and addresses have them. */
export const isLetter = (code: number): boolean =>
  (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || (code >= 0xc0 && code <= 0x24f && code !== 0xd7 && code !== 0xf7)

export const isWordCharacter = (code: number): boolean => isLetter(code) || isDigit(code) || code === 0x5f

export const isSpace = (code: number): boolean => code === 0x20 || (code >= 0x09 && code <= 0x0d) || code === 0xa0 || code === 0x2028 || code === 0x2029
