/** Collects the model's text from forwarded chat frames without parsing them: the JSON string after a content key. */
import { KeptBytes } from "./KeptBytes.ts"

const keys = ['"content":"', '"content": "', '"reasoning_content":"', '"arguments":"', '"text":"', '"reasoning":"'].map((k) => Buffer.from(k))
const QUOTE = 0x22
const BACKSLASH = 0x5c

export class TextMeter {
  private readonly kept = new KeptBytes()
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
    this.kept.add(event, start, end)
  }

  /** Takes the first text of one frame; answers whether there was any. */
  add(event: Buffer): boolean {
    const start = this.find(event)
    if (start === -1) return false
    this.keep(event, start, this.end)
    return true
  }

  /** The text, unescaped; blanks stand for what was not kept. */
  text(): string {
    return this.kept.text()
  }
}
