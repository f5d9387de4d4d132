/**
 * The shape of a delta event: its bytes with holes where the sequence number, the text and the padding stand. It is taken from
 * an event that was parsed; another event that equals it everywhere but in the holes says the same thing of another text, and
 * is not parsed. Text cannot fool it: a hole ends at the first quote that is not escaped, and what follows must be equal again.
 */
import { unescape } from "#src/wire/stream/literal.ts"

const QUOTE = 34
const BACKSLASH = 92

/** Members of a delta event that say nothing else than where it belongs. */
const plainKeys = new Set(["type", "sequence_number", "item_id", "output_index", "content_index", "summary_index", "delta", "logprobs", "obfuscation"])

export class FrameShape {
  /** Where the text of the last matching event begins and ends. */
  start = 0
  end = 0
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
      fixed.push(text.slice(from, start))
      from = end
    }
    fixed.push(text.slice(from))
    return new FrameShape(fixed, found.map((one) => one.hole))
  }

  matches(text: string): boolean {
    const { fixed, holes } = this
    let at = 0
    for (let i = 0; i < holes.length; i++) {
      const part = fixed[i] as string
      if (!text.startsWith(part, at)) return false
      at += part.length
      const hole = holes[i]
      const end = hole === "number" ? endOfDigits(text, at) : endOfString(text, at)
      if (end === -1) return false
      if (hole === "text") {
        this.start = at
        this.end = end
      }
      at = end
    }
    const last = fixed[holes.length] as string
    return text.length === at + last.length && text.endsWith(last)
  }
}

type Hole = "number" | "text" | "string"

interface Found {
  readonly start: number
  readonly end: number
  readonly hole: Hole
}

/** Offset behind the digits at `from`, -1 when there are none. */
const endOfDigits = (text: string, from: number): number => {
  let at = from
  while (at < text.length && text.charCodeAt(at) >= 48 && text.charCodeAt(at) <= 57) at++
  return at === from ? -1 : at
}

/** Offset of the closing quote; -1 when there is none, or a raw control character says that this is no JSON string. */
const endOfString = (text: string, from: number): number => {
  let at = from
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at
    if (code < 32) return -1
    at += code === BACKSLASH ? 2 : 1
  }
  return -1
}

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
  const end = start === -1 ? -1 : endOfDigits(text, start)
  return end === -1 || Number(text.slice(start, end)) !== value ? null : { start, end }
}

const stringOf = (text: string, key: string, value: unknown): { readonly start: number; readonly end: number } | null => {
  const quote = valueOf(text, key)
  if (quote === -1 || text.charCodeAt(quote) !== QUOTE) return null
  const end = endOfString(text, quote + 1)
  return end === -1 || unescape(text.slice(quote + 1, end)) !== value ? null : { start: quote + 1, end }
}
