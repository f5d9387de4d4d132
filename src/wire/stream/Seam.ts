/**
 * Where a continued answer meets the partial one: a model that continues an answer often repeats the end of its text. The first
 * text of the continuation is held until it is long enough to compare, and the repetition is cut off.
 */
import { escape, unescape } from "#src/wire/stream/literal.ts"
import type { Literal } from "#src/wire/stream/StreamSink.ts"

/** Characters of the continuation that are looked at. */
const lookedAt = 240
/** A shorter repetition may be chance. */
const shortest = 3

export class Seam {
  private readonly tail: string
  private held = ""
  private settled = false

  /** `before`: the text that the client has. */
  constructor(before: string) {
    this.tail = before.slice(-lookedAt)
  }

  /** Takes the next text; answers what is new of it, "" while it is held. */
  push(literal: Literal): Literal {
    if (this.settled) return literal
    this.held += unescape(literal)
    return this.held.length < lookedAt ? "" : this.settle()
  }

  /** Something else than text follows: answers what was held. */
  settle(): Literal {
    if (this.settled) return ""
    this.settled = true
    const text = this.held.slice(overlap(this.tail, this.held))
    this.held = ""
    return escape(text)
  }
}

/** Length of the longest beginning of `text` that `tail` ends with; 0 when it is shorter than `shortest`. */
export const overlap = (tail: string, text: string): number => {
  for (let length = Math.min(tail.length, text.length); length >= shortest; length--) {
    if (tail.endsWith(text.slice(0, length))) return length
  }
  return 0
}
