/** Collects the text of forwarded delta events without parsing them: the JSON string after `"delta":`. */
import { KeptBytes } from "#src/wire/stream/KeptBytes.ts"

const key = Buffer.from('"delta":')
const QUOTE = 0x22
const BACKSLASH = 0x5c

export class DeltaMeter {
  private readonly kept = new KeptBytes()

  add(event: Buffer): void {
    const at = event.indexOf(key)
    if (at === -1) return
    let start = at + key.length
    if (event[start] === 0x20) start++
    if (event[start] !== QUOTE) return
    start++
    let end = start
    while (end < event.length && event[end] !== QUOTE) end += event[end] === BACKSLASH ? 2 : 1
    if (end < event.length) this.kept.add(event, start, end)
  }

  text(): string {
    return this.kept.text()
  }
}
