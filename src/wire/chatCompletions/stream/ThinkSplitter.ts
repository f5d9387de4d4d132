/**
 * Finds `<think>…</think>` at the very beginning of a choice's content, however the pieces are cut: what may
 * still become a tag is held back. Line ends at the seams are dropped, as they belong to the tags.
 */
import { thinkClose, thinkOpen } from "#src/wire/chatCompletions/request/message.ts"

export interface ThinkSink {
  readonly text: (text: string) => void
  readonly thinking: (text: string) => void
}

export class ThinkSplitter {
  private state: "start" | "inside" | "off" = "start"
  private held = ""
  /** The next text follows a tag: its leading line ends go. */
  private atSeam = false

  /** Nothing is held and text is just text: pieces need not be looked at. */
  get isOff(): boolean {
    return this.state === "off" && !this.atSeam
  }

  /** Inside the tags with nothing held: a piece without `<` is thinking and nothing else. */
  get isPlainThinking(): boolean {
    return this.state === "inside" && !this.atSeam && this.held === ""
  }

  /** The choice has reasoning of its own: its content is never searched. */
  switchOff(): void {
    if (this.state === "start" && this.held === "") this.state = "off"
  }

  feed(piece: string, sink: ThinkSink): void {
    if (this.state === "start") {
      const text = this.held + piece
      if (text.length < thinkOpen.length && thinkOpen.startsWith(text)) {
        this.held = text
        return
      }
      this.held = ""
      if (!text.startsWith(thinkOpen)) {
        this.state = "off"
        sink.text(text)
        return
      }
      this.state = "inside"
      this.atSeam = true
      this.inside(text.slice(thinkOpen.length), sink)
    } else if (this.state === "inside") this.inside(piece, sink)
    else this.outside(piece, sink)
  }

  /** No more content comes: what was held was no tag. */
  flush(sink: ThinkSink): void {
    const { held } = this
    this.held = ""
    if (this.state === "inside") {
      if (held !== "") sink.thinking(held)
      return
    }
    if (held !== "") sink.text(held)
    this.state = "off"
  }

  private inside(piece: string, sink: ThinkSink): void {
    const text = this.atSeam ? this.afterSeam(piece) : this.held + piece
    if (text === "") return
    const end = text.indexOf(thinkClose)
    if (end === -1) {
      const keep = partialTag(text)
      this.held = text.slice(text.length - keep)
      if (keep < text.length) sink.thinking(text.slice(0, text.length - keep))
      return
    }
    this.held = ""
    if (end > 0) sink.thinking(text.slice(0, end))
    this.state = "off"
    this.atSeam = true
    this.outside(text.slice(end + thinkClose.length), sink)
  }

  private outside(piece: string, sink: ThinkSink): void {
    const text = this.atSeam ? this.afterSeam(piece) : piece
    if (text !== "") sink.text(text)
  }

  private afterSeam(piece: string): string {
    const text = piece.replace(/^[\r\n]+/, "")
    if (text !== "") this.atSeam = false
    return text
  }
}

/** How many characters at the end may be the beginning of the closing tag. */
const partialTag = (text: string): number => {
  for (let length = Math.min(thinkClose.length - 1, text.length); length > 0; length--) {
    if (thinkClose.startsWith(text.slice(text.length - length))) return length
  }
  return 0
}
