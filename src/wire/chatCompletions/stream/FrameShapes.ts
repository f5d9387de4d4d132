/**
 * Knows plain content frames again without parsing them. A frame that was parsed and holds one text and nothing else to learn
 * becomes a shape: what stands before the text and what stands behind it. A later event that begins and ends exactly so differs in its
 * text alone, whatever that text says. Events are compared as bytes (one character each), so that a text beyond ASCII costs no more.
 */
import { bytewise, endOfLiteral } from "#src/wire/stream/literal.ts"

/** What a literal found by a shape is. Its texts have a character per byte. */
export interface Shape<Meaning> {
  readonly prefix: string
  readonly suffix: string
  /** The frame ends in a padding string of changing length; `suffix` ends where it begins. */
  readonly padded: boolean
  readonly meaning: Meaning
}

/** Frames of several choices and kinds take turns; more kinds than these are parsed. */
const mostShapes = 8
/** A server whose frames all differ (a counter in each) is not learnt for ever; a lesson that paid for itself is not counted. */
const mostLessons = 32
const matchesThatPay = 8
const padding = ',"obfuscation":"'
const probe = "\u0001gateway probe\u0001"

export class FrameShapes<Meaning> {
  private readonly shapes: Array<Shape<Meaning>> = []
  private newest: Shape<Meaning> | null = null
  private lessons = 0
  private matches = 0
  /** Where the literal of the last match ends, and whether it is ASCII. */
  private end = 0
  private isAscii = true

  /** The shape of an event, given with a character per byte; null when it must be parsed. */
  match(text: string): Shape<Meaning> | null {
    if (this.newest !== null && this.fits(text, this.newest)) return this.newest
    for (const shape of this.shapes) {
      if (shape !== this.newest && this.fits(text, shape)) {
        this.newest = shape
        return shape
      }
    }
    return null
  }

  /** The literal of the event that `match` just answered, which begins at `start` of its bytes. */
  literal(text: string, bytes: Buffer, start: number, shape: Shape<Meaning>): string {
    const from = shape.prefix.length
    return this.isAscii ? text.slice(from, this.end) : bytes.toString("utf8", start + from, start + this.end)
  }

  private fits(text: string, shape: Shape<Meaning>): boolean {
    // Comparing a slice costs a fifth of `startsWith`.
    if (text.slice(0, shape.prefix.length) !== shape.prefix) return false
    const signed = endOfValidLiteral(text, shape.prefix.length)
    if (signed === 0) return false
    const end = Math.abs(signed)
    const { suffix } = shape
    if (shape.padded) {
      if (text.slice(end, end + suffix.length) !== suffix || !isPaddingEnd(text, end + suffix.length)) return false
    } else if (text.length !== end + suffix.length || text.slice(end) !== suffix) return false
    this.end = end
    this.isAscii = signed > 0
    this.matches++
    return true
  }

  /**
   * Learns the frame `text` (a whole event), in which `key` has the string `value`; `read` answers that member of a frame, so
   * that the place found is proven by putting another text there.
   */
  learn(text: string, key: string, value: string, read: (frame: unknown) => unknown, meaning: Meaning): void {
    if (this.lessons >= mostLessons || !isSingleLine(text)) return
    if (this.matches < matchesThatPay) this.lessons++
    this.matches = 0
    const name = `"${key}"`
    for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
      const start = startOfValue(text, at + name.length)
      if (start === -1) continue
      const end = endOfLiteral(text, start)
      if (end === -1) return
      if (JSON.stringify(value) !== JSON.stringify(parsed(text.slice(start - 1, end + 1)))) continue
      const prefix = text.slice(0, start)
      const rest = text.slice(end)
      if (read(parsed(`${prefix}${JSON.stringify(probe).slice(1, -1)}${rest}`.slice(5))) !== probe) continue
      this.add(prefix, rest, meaning)
      return
    }
  }

  private add(prefix: string, rest: string, meaning: Meaning): void {
    const pad = rest.lastIndexOf(padding)
    const padded = pad !== -1 && isPaddingEnd(rest, pad + padding.length)
    const shape = { prefix: bytewise(prefix), suffix: bytewise(padded ? rest.slice(0, pad + padding.length) : rest), padded, meaning }
    if (this.shapes.length === mostShapes) this.shapes.shift()
    this.shapes.push(shape)
    this.newest = shape
  }
}

/** The event is one `data:` line, a blank line, nothing else. */
const isSingleLine = (text: string): boolean => text.startsWith("data:") && !/[\r\n]/.test(text.trimEnd())

/** Behind the quote that opens the value after a key, -1 when the value is no string. */
const startOfValue = (text: string, from: number): number => {
  let at = skipSpace(text, from)
  if (text[at] !== ":") return -1
  at = skipSpace(text, at + 1)
  return text[at] === '"' ? at + 1 : -1
}

const skipSpace = (text: string, from: number): number => {
  let at = from
  while (text[at] === " ") at++
  return at
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Letters and digits, then the end of the frame's object and of the event. */
const isPaddingEnd = (text: string, from: number): boolean => {
  let at = from
  for (;;) {
    const c = text.charCodeAt(at)
    if ((c >= 48 && c <= 57) || (c >= 65 && c <= 90) || (c >= 97 && c <= 122)) at++
    else break
  }
  return text.length === at + 4 && text.endsWith('"}\n\n')
}

/** Offset of the quote that closes the literal, negative when it is not ASCII; 0 when it never closes or is no JSON string. */
const endOfValidLiteral = (text: string, start: number): number => {
  const length = text.length
  let bits = 0
  for (let i = start; i < length; i++) {
    const c = text.charCodeAt(i)
    bits |= c
    if (c === 34) return bits < 128 ? i : -i
    if (c < 32) return 0
    if (c !== 92) continue
    i++
    const escaped = text.charCodeAt(i)
    if (escaped === 117) {
      if (!isHex(text, i + 1) || !isHex(text, i + 2) || !isHex(text, i + 3) || !isHex(text, i + 4)) return 0
      i += 4
    } else if (!isEscape(escaped)) return 0
  }
  return 0
}

/** `"` `\` `/` b f n r t */
const isEscape = (c: number): boolean => c === 34 || c === 92 || c === 47 || c === 98 || c === 102 || c === 110 || c === 114 || c === 116

const isHex = (text: string, at: number): boolean => {
  const c = text.charCodeAt(at)
  return (c >= 48 && c <= 57) || (c >= 65 && c <= 70) || (c >= 97 && c <= 102)
}
