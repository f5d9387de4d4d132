/**
 * The text in the arguments of a function that stands for a free text tool, piece by piece. Arguments that begin with the text's own
 * member are read as they come: the characters of that JSON string are the literal of the text, and only an escape that is cut waits
 * for its rest. Arguments of another shape are read when they are whole.
 */
import * as Json from "#src/wire/json/json.ts"
import { escape, unescape } from "#src/wire/stream/literal.ts"
import type { Literal } from "#src/wire/stream/StreamSink.ts"

/** The one member of the arguments. */
export const member = "input"

const opening = new RegExp(`^\\s*\\{\\s*"${member}"\\s*:\\s*"`)
/** The opening is no longer than this, blanks included; characters. */
const longestOpening = 256
/** What may follow a backslash in a JSON string. */
const simpleEscapes = '"\\/bfnrt'
const unicodeEscape = /^u[0-9a-fA-F]{4}$/

export class FreeText {
  /** All of the text was given. */
  isWhole = false
  private isOpen = false
  /** The arguments have another shape. */
  private isOther = false
  /** Arguments whose shape is not known yet, or in the text an escape or a half character that is cut. */
  private held = ""

  /** Takes a piece of the arguments; answers what it says of the text. */
  push(literal: Literal): Literal {
    if (this.isWhole) return ""
    this.held += unescape(literal)
    if (this.isOther) return ""
    if (!this.isOpen) {
      const found = opening.exec(this.held.slice(0, longestOpening))
      this.isOther = found === null && this.held.length > longestOpening
      if (found === null) return ""
      this.isOpen = true
      this.held = this.held.slice(found[0].length)
    }
    return this.read()
  }

  /** Nothing more comes: answers what is left. */
  end(): Literal {
    if (this.isWhole) return ""
    this.isWhole = true
    // An escape that was never finished says nothing.
    return this.isOpen ? "" : escape(otherwise(this.held))
  }

  private read(): Literal {
    const text = this.held
    this.held = ""
    let out = ""
    let from = 0
    let at = 0
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === QUOTE) {
        this.isWhole = true
        break
      }
      if (code === BACKSLASH) {
        const length = text[at + 1] === "u" ? 6 : 2
        if (at + length > text.length) {
          this.held = text.slice(at)
          break
        }
        const said = text.slice(at + 1, at + length)
        if (simpleEscapes.includes(said) || unicodeEscape.test(said)) at += length - 1
        else {
          // No escape of JSON: the model meant the backslash itself.
          out += `${text.slice(from, at)}\\\\`
          from = at + 1
        }
      } else if (code < 0x20) {
        out += text.slice(from, at) + escape(text[at] ?? "")
        from = at + 1
      } else if (code >= 0xd800 && code <= 0xdfff) {
        const next = text.charCodeAt(at + 1)
        const isPair = code < 0xdc00 && next >= 0xdc00 && next <= 0xdfff
        if (isPair) at++
        else if (code < 0xdc00 && at + 1 === text.length) {
          this.held = text.slice(at)
          break
        } else {
          out += text.slice(from, at) + escape(text[at] ?? "")
          from = at + 1
        }
      }
    }
    return out + text.slice(from, at)
  }
}

const QUOTE = 34
const BACKSLASH = 92

/** Arguments of another shape: the text's own member elsewhere in them, else their only text, else they are the text. */
const otherwise = (args: string): string => {
  const parsed = Json.parseRecord(args)
  if (parsed === null) return args
  const own = parsed[member]
  if (typeof own === "string") return own
  const values = Object.values(parsed)
  const [only] = values
  return values.length === 1 && typeof only === "string" ? only : values.length === 0 ? "" : args
}
