/**
 * The model's text of one stream as its bytes stand in the JSON strings of its events, escapes included; unescaped only on demand.
 * Used by the tokenizer when an upstream gives no usage. Bounded: of text beyond the bound only the length is known.
 */
import { padding, unescape } from "#src/wire/stream/literal.ts"

/** Bytes kept per stream: some 16,000 tokens, of which a count takes its sample. */
const mostBytes = 64 * 1024

/** Up to so many bytes a loop beats a native copy. */
const shortText = 64

export class KeptBytes {
  private buffer: Buffer | null = null
  private length = 0
  /** Bytes that did not fit any more. */
  private dropped = 0

  /** Keeps `event[start, end)`, the text of one JSON string. */
  add(event: Buffer, start: number, end: number): void {
    const fits = mostBytes - this.length
    if (end - start <= fits) this.append(event, start, end)
    else {
      const cut = this.dropped > 0 ? start : wholeUpTo(event, start, start + fits)
      this.append(event, start, cut)
      this.dropped += end - cut
    }
  }

  /** The text, unescaped; blanks stand for what was not kept. */
  text(): string {
    if (this.buffer === null) return ""
    const text = unescape(this.buffer.toString("utf8", 0, this.length))
    return text + padding(Math.round(this.dropped * text.length / this.length))
  }

  private append(event: Buffer, start: number, end: number): void {
    const size = end - start
    if (size <= 0) return
    const buffer = this.room(size)
    if (size > shortText) event.copy(buffer, this.length, start, end)
    else for (let i = 0; i < size; i++) buffer[this.length + i] = event[start + i] as number
    this.length += size
  }

  private room(size: number): Buffer {
    const { buffer } = this
    if (buffer === null) return this.buffer = Buffer.allocUnsafe(Math.max(512, size))
    if (buffer.length >= this.length + size) return buffer
    const grown = Buffer.allocUnsafe(Math.min(mostBytes, Math.max(buffer.length * 2, this.length + size)))
    buffer.copy(grown, 0, 0, this.length)
    return this.buffer = grown
  }
}

const BACKSLASH = 0x5c
/** Bytes of an escaped pair of surrogates. */
const longestEscape = 12

/** The last place up to `end` that is not inside a character or an escape of the JSON string that begins at `start`. */
const wholeUpTo = (bytes: Buffer, start: number, end: number): number => {
  let cut = end
  while (cut > start && ((bytes[cut] as number) & 0xc0) === 0x80) cut--
  for (let i = Math.max(start, cut - longestEscape); i < cut; i++) if (bytes[i] === BACKSLASH) cut = i
  while (cut > start && bytes[cut - 1] === BACKSLASH) cut--
  return cut
}
