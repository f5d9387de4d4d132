/**
 * The shape of a delta event: its bytes with holes where the sequence number, the text and the padding stand. It is taken from
 * an event that was parsed; another event that equals it everywhere but in the holes says the same thing of another text, and
 * is not parsed. Events are compared as bytes (one character each), so that a text beyond ASCII costs no more. Text cannot fool it: a hole ends at the first quote that is not escaped, and what follows must be equal again.
 */
import { bytewise, unescape } from "#src/wire/stream/literal.ts"

const QUOTE = 34
const BACKSLASH = 92
const LETTER_U = 117

/** Members of a delta event that say nothing else than where it belongs. */
const plainKeys = new Set(["type", "sequence_number", "item_id", "output_index", "content_index", "summary_index", "delta", "logprobs", "obfuscation"])

export class FrameShape {
  /** Where the text of the last matching event begins and ends, and whether it is ASCII. */
  private start = 0
  private end = 0
  private isAscii = true
  private readonly fixed: ReadonlyArray<string>
  private readonly holes: ReadonlyArray<Hole>

  private constructor(fixed: ReadonlyArray<string>, holes: ReadonlyArray<Hole>) {
    this.fixed = fixed
    this.holes = holes
  }

  /** The shape of `text`, whose data is `frame`; null when it has none. */
  static of(text: string, frame: Readonly<Record<string, unknown>>): FrameShape | null {
    for (const key in frame) if (!plainKeys.has(key)) return null
    const logprobs = frame["logprobs"]
    if (logprobs !== undefined && logprobs !== null && !(Array.isArray(logprobs) && logprobs.length === 0)) return null
    const found: Array<Found> = []
    for (const key of ["sequence_number", "delta", "obfuscation"] as const) {
      const value = frame[key]
      if (value === undefined && key !== "delta") continue
      const place = key === "sequence_number" ? numberOf(text, key, value) : stringOf(text, key, value)
      if (place === null) return null
      found.push({ ...place, hole: key === "delta" ? "text" : key === "obfuscation" ? "string" : "number" })
    }
    found.sort((a, b) => a.start - b.start)
    const fixed: Array<string> = []
    let from = 0
    for (const { end, start } of found) {
      fixed.push(bytewise(text.slice(from, start)))
      from = end
    }
    fixed.push(bytewise(text.slice(from)))
    return new FrameShape(fixed, found.map((one) => one.hole))
  }

  /** Has an event, given with a character per byte, this shape? */
  matches(text: string): boolean {
    const { fixed, holes } = this
    let at = 0
    for (let i = 0; i < holes.length; i++) {
      const part = fixed[i] as string
      // Comparing a slice is a memory comparison; `startsWith` goes character by character.
      if (text.slice(at, at + part.length) !== part) return false
      at += part.length
      const hole = holes[i]
      const signed = hole === "number" ? endOfDigits(text, at) : endOfString(text, at)
      if (signed === 0) return false
      const end = Math.abs(signed)
      if (hole === "text") {
        this.start = at
        this.end = end
        this.isAscii = signed > 0
      }
      at = end
    }
    return text.slice(at) === fixed[holes.length]
  }

  /** The text of the event that matched, which begins at `start` of its bytes. */
  literal(text: string, bytes: Buffer, start: number): string {
    return this.isAscii ? text.slice(this.start, this.end) : bytes.toString("utf8", start + this.start, start + this.end)
  }
}

type Hole = "number" | "text" | "string"

interface Found {
  readonly start: number
  readonly end: number
  readonly hole: Hole
}

/** Offset behind the digits at `from`, 0 when there are none. */
const endOfDigits = (text: string, from: number): number => {
  let at = from
  while (at < text.length && text.charCodeAt(at) >= 48 && text.charCodeAt(at) <= 57) at++
  return at === from ? 0 : at
}

/** Offset of the closing quote, negative when the text is not ASCII; 0 when there is none, or this is no JSON string. */
const endOfString = (text: string, from: number): number => {
  let bits = 0
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    bits |= code
    if (code === QUOTE) return bits < 128 ? at : -at
    if (code < 32) return 0
    if (code !== BACKSLASH) continue
    const escaped = text.charCodeAt(++at)
    if (escaped === LETTER_U) {
      for (let k = 1; k <= 4; k++) if (!isHex(text.charCodeAt(at + k))) return 0
      at += 4
    } else if (!isSimpleEscape(escaped)) return 0
  }
  return 0
}

const isHex = (code: number): boolean => (code >= 48 && code <= 57) || (code >= 65 && code <= 70) || (code >= 97 && code <= 102)

/** `"`, `\`, `/`, b, f, n, r, t. */
const isSimpleEscape = (code: number): boolean =>
  code === QUOTE || code === BACKSLASH || code === 47 || code === 98 || code === 102 || code === 110 || code === 114 || code === 116

/** Where the value of a key begins; -1 when the key is not there exactly once. A quoted key cannot stand inside a JSON string unescaped. */
const valueOf = (text: string, key: string): number => {
  const needle = `"${key}":`
  const at = text.indexOf(needle)
  if (at === -1 || text.indexOf(needle, at + 1) !== -1 || text.charCodeAt(at - 1) === BACKSLASH) return -1
  let start = at + needle.length
  while (text[start] === " ") start++
  return start
}

const numberOf = (text: string, key: string, value: unknown): { readonly start: number; readonly end: number } | null => {
  const start = valueOf(text, key)
  const end = start === -1 ? 0 : endOfDigits(text, start)
  return end === 0 || Number(text.slice(start, end)) !== value ? null : { start, end }
}

const stringOf = (text: string, key: string, value: unknown): { readonly start: number; readonly end: number } | null => {
  const quote = valueOf(text, key)
  if (quote === -1 || text.charCodeAt(quote) !== QUOTE) return null
  const end = Math.abs(endOfString(text, quote + 1))
  return end === 0 || unescape(text.slice(quote + 1, end)) !== value ? null : { start: quote + 1, end }
}
