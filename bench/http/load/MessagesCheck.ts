/**
 * Verifies a stream that the target translated to the messages format: its bytes are the target's own, so the check reads
 * the text deltas and compares their joined text, its order and the closing event.
 */
import { contentEvent, STAMP_DIGITS, type StreamScript } from "../payload.ts"

const contentOf = (script: StreamScript, index: number): readonly [prefix: string, suffix: string] => {
  const mark = `"content":"`
  const [prefix, suffix] = contentEvent(script, index)
  return [prefix.slice(prefix.lastIndexOf(mark) + mark.length), suffix.slice(0, suffix.indexOf(`"`))]
}

const textDelta = (data: string): string | null => {
  if (!data.includes(`"text_delta"`)) return null
  const parsed: unknown = JSON.parse(data)
  if (typeof parsed !== "object" || parsed === null || !("delta" in parsed)) return null
  const { delta } = parsed
  return typeof delta === "object" && delta !== null && "text" in delta && typeof delta.text === "string" ? delta.text : null
}

export class MessagesCheck {
  readonly #script: StreamScript & { readonly kind: "paced" }
  readonly #onStamp: (micros: number) => void
  #line = ""
  #text = ""
  #events = 0
  #stopped = false

  constructor(script: StreamScript & { readonly kind: "paced" }, onStamp: (micros: number) => void) {
    this.#script = script
    this.#onStamp = onStamp
  }

  feed(bytes: Buffer, start: number, end: number): string | null {
    const lines = (this.#line + bytes.toString("latin1", start, end)).split("\n")
    this.#line = lines.pop() ?? ""
    for (const line of lines) {
      if (!line.startsWith("data:")) continue
      if (line.includes(`"message_stop"`)) this.#stopped = true
      const problem = this.#take(textDelta(line.slice(5)) ?? "")
      if (problem !== null) return problem
    }
    return null
  }

  finish(): string | null {
    if (!this.#stopped) return "message_stop is missing"
    return this.#events === this.#script.events && this.#text === ""
      ? null
      : `${this.#events} of ${this.#script.events} events arrived`
  }

  /** One delta may carry part of an event's text, or several. */
  #take(delta: string): string | null {
    this.#text += delta
    for (;;) {
      const [prefix, suffix] = contentOf(this.#script, this.#events)
      const width = prefix.length + STAMP_DIGITS + suffix.length
      if (this.#text.length < width) return null
      const piece = this.#text.slice(0, width)
      const stamp = piece.slice(prefix.length, prefix.length + STAMP_DIGITS)
      if (!piece.startsWith(prefix) || !piece.endsWith(suffix) || !/^\d+$/.test(stamp)) {
        return `event ${this.#events}: expected ${JSON.stringify(prefix)}, got ${JSON.stringify(piece)}`
      }
      this.#text = this.#text.slice(width)
      this.#events++
      this.#onStamp(Number(stamp))
    }
  }
}
