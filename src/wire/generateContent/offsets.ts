/** Places in a text, by characters (UTF-16 code units) and by bytes of UTF-8. A place is found without reading all before it, since a text may have thousands of citations. */
import { unescape } from "#src/wire/stream/literal.ts"
import type { Literal } from "#src/wire/stream/StreamSink.ts"

/** Between two places that are known. */
const stride = 1_024

interface Known {
  readonly characters: number
  readonly bytes: number
}

const start: Known = { characters: 0, bytes: 0 }

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80
const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff

/** The character at each byte; behind the end it is the end. */
export const characterAt = (text: string): ((byte: number) => number) => {
  const bytes = Buffer.from(text)
  if (bytes.length === text.length) return (byte) => Math.min(byte, text.length)
  const known = [start]
  for (let last = start, next = stride; next < bytes.length; next += stride) {
    let at = next
    while (isContinuation(bytes[at])) at--
    last = { bytes: at, characters: last.characters + bytes.toString("utf8", last.bytes, at).length }
    known.push(last)
  }
  return (byte) => {
    const before = known[Math.min(Math.floor(byte / stride), known.length - 1)] ?? start
    return before.characters + bytes.toString("utf8", before.bytes, Math.min(byte, bytes.length)).length
  }
}

interface Piece extends Known {
  readonly at: (byte: number) => number
}

/** The character at each byte of a text that grows, as `characterAt` answers it; what was looked at once is not read again. */
export class GrowingText {
  /** What came since it was asked last. */
  #fresh: Literal = ""
  /** The first half of a letter, whose other half may still come. */
  #half = ""
  readonly #pieces: Array<Piece> = []
  #end = start

  push(literal: Literal): void {
    this.#fresh += literal
  }

  characterAt(byte: number): number {
    this.#take()
    let [from, to] = [0, this.#pieces.length]
    while (to - from > 1) {
      const middle = (from + to) >> 1
      if (byte < (this.#pieces[middle]?.bytes ?? 0)) to = middle
      else from = middle
    }
    const piece = this.#pieces[from]
    return piece === undefined ? 0 : piece.characters + piece.at(byte - piece.bytes)
  }

  #take(): void {
    if (this.#fresh === "") return
    const fresh = this.#half + unescape(this.#fresh)
    this.#fresh = ""
    this.#half = isHighSurrogate(fresh.charCodeAt(fresh.length - 1)) ? fresh.slice(-1) : ""
    const text = fresh.slice(0, fresh.length - this.#half.length)
    this.#pieces.push({ ...this.#end, at: characterAt(text) })
    this.#end = { bytes: this.#end.bytes + Buffer.byteLength(text), characters: this.#end.characters + text.length }
  }
}

/** The byte at each character; behind the end it is the end. */
export const byteAt = (text: string): ((character: number) => number) => {
  if (Buffer.byteLength(text) === text.length) return (character) => text.slice(0, character).length
  const known = [start]
  for (let last = start, next = stride; next < text.length; next += stride) {
    const at = isLowSurrogate(text.charCodeAt(next)) ? next - 1 : next
    last = { characters: at, bytes: last.bytes + Buffer.byteLength(text.slice(last.characters, at)) }
    known.push(last)
  }
  return (character) => {
    const before = known[Math.min(Math.floor(character / stride), known.length - 1)] ?? start
    return before.bytes + Buffer.byteLength(text.slice(before.characters, character))
  }
}
