/**
 * Collects the text of forwarded delta events without parsing them: the JSON string after `"delta":` is copied as it stands and
 * unescaped only if somebody asks. Serves the tokenizer when an upstream gives no usage; bounded.
 */
import { unescape } from "#src/wire/stream/literal.ts"

const key = Buffer.from('"delta":')
const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Text kept per stream in bytes; of what goes beyond only the length is. */
const maxBytes = 256 * 1024

export class DeltaMeter {
  private buffer: Buffer | null = null
  private length = 0
  private dropped = 0

  add(event: Buffer): void {
    const at = event.indexOf(key)
    if (at === -1) return
    let start = at + key.length
    if (event[start] === 0x20) start++
    if (event[start] !== QUOTE) return
    start++
    let end = start
    while (end < event.length && event[end] !== QUOTE) end += event[end] === BACKSLASH ? 2 : 1
    if (end < event.length) this.append(event, start, end)
  }

  text(): string {
    if (this.buffer === null) return ""
    const text = unescape(this.buffer.toString("utf8", 0, this.length))
    return this.dropped === 0 ? text : text + " ".repeat(Math.min(this.dropped, maxBytes))
  }

  private append(event: Buffer, start: number, end: number): void {
    const size = end - start
    if (this.length + size > maxBytes) {
      this.dropped += size
      return
    }
    if (this.buffer === null) this.buffer = Buffer.allocUnsafe(Math.max(512, size))
    else if (this.buffer.length < this.length + size) {
      const grown = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(this.buffer.length * 2, this.length + size)))
      this.buffer.copy(grown, 0, 0, this.length)
      this.buffer = grown
    }
    event.copy(this.buffer, this.length, start, end)
    this.length += size
  }
}
