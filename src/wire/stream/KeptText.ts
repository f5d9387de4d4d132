/** The model's text of one stream as literals, kept for the tokenizer; bounded, beyond it only the number of characters is known. */
import { padding, unescape } from "#src/wire/stream/literal.ts"
import type { Literal } from "#src/wire/stream/StreamSink.ts"

/** Characters that are kept. */
export const keptText = 256 * 1024

export class KeptText {
  private kept = ""
  private dropped = 0

  add(literal: Literal): void {
    if (this.kept.length < keptText) this.kept += literal
    else this.dropped += literal.length
  }

  /** False once something did not fit any more. */
  get whole(): boolean {
    return this.dropped === 0
  }

  /** The text, unescaped; blanks stand for what was not kept. */
  text(): string {
    return unescape(this.kept) + padding(this.dropped)
  }
}
