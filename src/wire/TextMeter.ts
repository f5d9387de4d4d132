/**
 * Collects the model's text from forwarded chat frames without parsing them: the JSON string after a content key is copied
 * as it stands (escapes included) and unescaped only if somebody asks. Serves the tokenizer when an upstream gives no usage.
 * Bounded: beyond `maxBytes` only the length grows, and the text is scaled by the caller.
 */
const keys = ['"content":"', '"content": "', '"reasoning_content":"', '"arguments":"', '"text":"', '"reasoning":"'].map((k) => Buffer.from(k))
const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Text kept per stream in bytes; longer answers are extrapolated from their length. */
const maxBytes = 256 * 1024

/** Up to so many bytes a loop beats a native copy. */
const shortText = 64

export class TextMeter {
  private buffer: Buffer | null = null
  private length = 0
  /** Bytes that did not fit any more. */
  private dropped = 0
  private lastKey = 0
  end = 0

  /** Where the first text of one frame begins, or -1; `end` is then the offset of its closing quote. */
  find(event: Buffer): number {
    let key = keys[this.lastKey] as Buffer
    let at = event.indexOf(key)
    if (at === -1) {
      for (let k = 0; k < keys.length; k++) {
        if (k === this.lastKey) continue
        key = keys[k] as Buffer
        at = event.indexOf(key)
        if (at !== -1) {
          this.lastKey = k
          break
        }
      }
      if (at === -1) return -1
    }
    const start = at + key.length
    // A token is a few bytes long: a loop beats a native call.
    let end = start
    while (end < event.length && event[end] !== QUOTE) end += event[end] === BACKSLASH ? 2 : 1
    if (end >= event.length) return -1
    this.end = end
    return start
  }

  /** Keeps `event[start, end)`, such as the text that `find` answered. */
  keep(event: Buffer, start: number, end: number): void {
    if (end > start) this.append(event, start, end)
  }

  /** Takes the first text of one frame; answers whether there was any. */
  add(event: Buffer): boolean {
    const start = this.find(event)
    if (start === -1) return false
    this.keep(event, start, this.end)
    return true
  }

  /** The text, unescaped. */
  text(): string {
    if (this.buffer === null) return ""
    const raw = this.buffer.toString("utf8", 0, this.length)
    const text = unescape(raw)
    return this.dropped === 0 ? text : text + " ".repeat(Math.min(this.dropped, maxBytes))
  }

  private append(event: Buffer, start: number, end: number): void {
    const size = end - start
    if (this.length + size > maxBytes) {
      this.dropped += size
      return
    }
    if (this.buffer === null) {
      this.buffer = Buffer.allocUnsafe(Math.max(512, size))
    } else if (this.buffer.length < this.length + size) {
      const grown = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(this.buffer.length * 2, this.length + size)))
      this.buffer.copy(grown, 0, 0, this.length)
      this.buffer = grown
    }
    if (size > shortText) event.copy(this.buffer, this.length, start, end)
    else for (let i = 0; i < size; i++) this.buffer[this.length + i] = event[start + i] as number
    this.length += size
  }
}

const unescape = (raw: string): string => {
  if (!raw.includes("\\")) return raw
  try {
    return JSON.parse(`"${raw}"`) as string
  } catch {
    return raw
  }
}
