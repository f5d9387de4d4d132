/**
 * The fast path of content lines: all lines of a stream that carry a piece of text are the same but for `created_at` and the
 * text. The first one is parsed, cut into a template and the template proven by parsing it again; a line that fits the
 * template is then read without parsing, and one that does not is parsed.
 */
import * as Json from "#src/wire/json/json.ts"
import { endOfLiteral } from "#src/wire/stream/literal.ts"
import type { Literal } from "#src/wire/stream/StreamSink.ts"

/** `head`, the timestamp, `middle`, the text, `tail`; without a timestamp `head` is "". */
interface Template {
  readonly isTimed: boolean
  readonly head: string
  readonly middle: string
  readonly tail: string
}

const probe = "@"
const createdKey = /"created_at"\s*:\s*"/g
const keys = { content: /"content"\s*:\s*"/g, thinking: /"thinking"\s*:\s*"/g }
/** What no JSON string holds: raw control characters and unknown escapes. Escaped backslashes may look like one and are parsed. */
// oxlint-disable-next-line no-control-regex
const suspect = /[\u0000-\u001f]|\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})/
/** A server whose lines differ in more than text costs a template each; it is given up on. */
const mostTemplates = 8

export class PlainLine {
  literal: Literal = ""
  isThinking = false
  private content: Template | null = null
  private thinking: Template | null = null
  private learned = 0

  /** Is this line a known content line? Then `literal` and `isThinking` say what it holds. */
  match(line: string): boolean {
    if (this.content !== null && this.fits(this.content, line)) {
      this.isThinking = false
      return true
    }
    if (this.thinking !== null && this.fits(this.thinking, line)) {
      this.isThinking = true
      return true
    }
    return false
  }

  /** Remembers the shape of a parsed line, when it is one that carries a text and nothing else. */
  learn(line: string, frame: Readonly<Record<string, unknown>>): void {
    const kind = plainKind(frame)
    if (kind === null || this.learned >= mostTemplates) return
    this.learned++
    const template = templateOf(line, kind)
    if (template === null) return
    if (kind === "content") this.content = template
    else this.thinking = template
  }

  private fits(template: Template, line: string): boolean {
    const { head, middle, tail } = template
    let at = 0
    if (template.isTimed) {
      // Comparing a slice is a memory comparison; `startsWith` goes character by character.
      if (line.slice(0, head.length) !== head) return false
      at = line.indexOf('"', head.length)
      if (at === -1 || line.charCodeAt(at - 1) === 92) return false
    }
    const start = at + middle.length
    const end = line.length - tail.length
    if (end < start || line.slice(at, start) !== middle || line.slice(end) !== tail || endOfLiteral(line, start) !== end) return false
    const literal = line.slice(start, end)
    if (suspect.test(literal)) return false
    this.literal = literal
    return true
  }
}

/** Which text a line carries, when it carries nothing else of interest. */
const plainKind = (frame: Readonly<Record<string, unknown>>): "content" | "thinking" | null => {
  const message = frame["message"]
  if (frame["done"] !== false || frame["error"] !== undefined || frame["logprobs"] !== undefined || !Json.isRecord(message)) return null
  const { content, images, thinking, tool_calls: calls } = message
  if (images !== undefined || calls !== undefined) return null
  if (typeof content === "string" && content !== "" && (thinking === undefined || thinking === "")) return "content"
  return typeof thinking === "string" && thinking !== "" && (content === undefined || content === "") ? "thinking" : null
}

const templateOf = (line: string, kind: "content" | "thinking"): Template | null => {
  const created = find(createdKey, line, 0)
  const from = created === -1 ? 0 : line.indexOf('"', created)
  const start = find(keys[kind], line, from)
  const end = start === -1 ? -1 : endOfLiteral(line, start)
  if (end === -1) return null
  const template = {
    isTimed: created !== -1, head: created === -1 ? "" : line.slice(0, created), middle: line.slice(from, start), tail: line.slice(end)
  }
  // The proof: another timestamp and another text put in are read back as just that.
  const other = Json.parseRecord(template.isTimed ? template.head + probe + template.middle + probe + template.tail : template.middle + probe + template.tail)
  const message = other === null ? null : Json.recordAt(other, "message")
  const isProven = other !== null && message !== null && message[kind] === probe && plainKind(other) === kind &&
    (!template.isTimed || other["created_at"] === probe)
  return isProven ? template : null
}

/** Offset behind the first match from `at`, -1 when there is none. */
const find = (pattern: RegExp, text: string, at: number): number => {
  pattern.lastIndex = at
  return pattern.exec(text) === null ? -1 : pattern.lastIndex
}
