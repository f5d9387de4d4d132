/**
 * Recognises the common frame of a stream, a delta of the open block, without parsing it. The first delta of a block is parsed;
 * what stands before its text is remembered, and a frame with the same beginning, a well-formed literal and nothing but the two
 * closing braces behind it differs from the parsed one in the text alone. The vendor pads the end with spaces. Frames are compared as
 * bytes (one character each), so that a text beyond ASCII costs no more.
 */
import * as Json from "#src/wire/json/json.ts"
import { bytewise, unescape } from "#src/wire/stream/literal.ts"
import type { Literal } from "#src/wire/stream/StreamSink.ts"

/** What a delta carries; `none` for one without meaning for the client (arguments of the vendor's own tools). */
export type FrameContent = "text" | "thinking" | "arguments" | "none"

const QUOTE = 0x22
const BACKSLASH = 0x5c
const BRACE = 0x7d
const escapes = /^(?:[^\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*$/

export class ContentFrames {
  content: FrameContent = "none"
  private prefix = ""
  private end = 0
  private isAscii = true

  /** A block begins or ends: its frames are not known yet. */
  forget(): void {
    this.prefix = ""
  }

  /** True when `event`, given with a character per byte, is one more frame of the known kind; `literal` then answers its text. */
  match(event: string): boolean {
    const { prefix } = this
    // Comparing a slice is a memory comparison; `startsWith` goes character by character.
    if (prefix === "" || event.slice(0, prefix.length) !== prefix) return false
    const signed = literalEnd(event, prefix.length)
    const end = Math.abs(signed)
    if (signed === 0 || !closes(event, end + 1)) return false
    this.end = end
    this.isAscii = signed > 0
    return true
  }

  /** The text of the frame that matched, which begins at `start` of its bytes. */
  literal(event: string, bytes: Buffer, start: number): Literal {
    const from = this.prefix.length
    return this.isAscii ? event.slice(from, this.end) : bytes.toString("utf8", start + from, start + this.end)
  }

  /** Learns from a parsed delta whose text is `delta[key]`; `event` is its text. */
  learn(event: string, frame: Readonly<Record<string, unknown>>, key: string, content: FrameContent): void {
    this.prefix = ""
    const delta = frame["delta"]
    // Only the last text can be recognised by what follows it.
    if (!Json.isRecord(delta) || lastKey(frame) !== "delta" || lastKey(delta) !== key) return
    const quoted = `"${key}"`
    for (let at = event.indexOf(quoted); at !== -1; at = event.indexOf(quoted, at + 1)) {
      let start = at + quoted.length
      while (event[start] === " " || event[start] === ":") start++
      if (event.charCodeAt(start) !== QUOTE) continue
      const bytes = Buffer.from(event)
      this.prefix = bytewise(event.slice(0, start + 1))
      const raw = bytes.toString("latin1")
      if (this.match(raw) && unescape(this.literal(raw, bytes, 0)) === delta[key]) {
        this.content = content
        return
      }
    }
    this.prefix = ""
  }
}

const lastKey = (record: Readonly<Record<string, unknown>>): string | undefined => {
  let last: string | undefined
  for (const key in record) last = key
  return last
}

/** Index of the quote that closes a well-formed literal, negative when it is not ASCII; 0 when there is none. */
const literalEnd = (text: string, start: number): number => {
  let escaped = false
  let bits = 0
  for (let i = start; i < text.length; i++) {
    const char = text.charCodeAt(i)
    bits |= char
    if (char === QUOTE) return escaped && !escapes.test(text.slice(start, i)) ? 0 : bits < 0x80 ? i : -i
    if (char === BACKSLASH) {
      escaped = true
      i++
    } else if (char < 0x20) return 0
  }
  return 0
}

/** Two braces and white space up to the end of the event. */
const closes = (text: string, from: number): boolean => {
  let braces = 0
  for (let i = from; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (char === BRACE) braces++
    else if (char !== 0x20 && char !== 0x0a && char !== 0x0d) return false
  }
  return braces === 2
}
