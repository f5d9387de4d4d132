/** JSON literals: text between the quotes of a JSON string. */
import type { Literal } from "#src/wire/stream/StreamSink.ts"

/** Escapes plain text. */
export const escape = (text: string): Literal => JSON.stringify(text).slice(1, -1)

/** The plain text of a literal; a broken literal is answered as it stands. */
export const unescape = (literal: Literal): string => {
  if (!literal.includes("\\")) return literal
  try {
    const text: unknown = JSON.parse(`"${literal}"`)
    return typeof text === "string" ? text : literal
  } catch {
    return literal
  }
}

/** Characters of the plain text, which is not made for it. */
export const lengthOf = (literal: Literal): number => {
  let length = literal.length
  for (let at = literal.indexOf("\\"); at !== -1;) {
    const width = literal.charCodeAt(at + 1) === 0x75 ? 6 : 2
    length -= width - 1
    at = literal.indexOf("\\", at + width)
  }
  return length
}

/** Text that was not kept is never longer than this; an answer of so many characters is longer than any model gives. */
const mostPadding = 16 * 1024 * 1024

/** Blanks that stand for so much text that was not kept: a count of tokens takes its sample elsewhere, and the length from here. */
export const padding = (length: number): string => " ".repeat(Math.min(length, mostPadding))

/**
 * UTF-8 read as Latin-1: a character per byte. Frames are compared in this form, because it is cheaper to make and is never wider
 * than a byte, whatever the text says.
 */
export const bytewise = (text: string): string => Buffer.from(text).toString("latin1")

/**
 * The literal that begins at `start` (behind its opening quote): answers the index of its closing quote, or -1 when the text
 * ends first.
 */
export const endOfLiteral = (text: string, start: number): number => {
  let end = text.indexOf('"', start)
  while (end !== -1) {
    let slashes = 0
    for (let i = end - 1; i >= start && text.charCodeAt(i) === 92; i--) slashes++
    if (slashes % 2 === 0) return end
    end = text.indexOf('"', end + 1)
  }
  return -1
}
