/**
 * Long events: a picture is one event of some MB. Their base64 strings are set aside before the rest is parsed, and short marks stand in
 * their place. What is written for the client gets the bytes back, so a picture is neither decoded nor parsed nor written anew.
 */
import { isStandardBytes } from "#src/wire/json/base64.ts"

/** A shorter event is read like any other. */
export const longEventBytes = 256 * 1024
/** A shorter string stays where it is. */
const longStringBytes = 64 * 1024
/** Each long string holds one of the places that lie so far apart. */
const stride = longStringBytes / 2
/** What is left to parse of one event, in bytes and in values: both hold the loop. */
const mostLeft = 4 * 1024 * 1024
const mostValues = 200_000

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OBJECT = 0x7b
const ARRAY = 0x5b
const dataUri = Buffer.from("data:")
/** Media types are shorter. */
const longestUriHead = 128

/** The beginning of a string stays: it says which kind of picture it is. */
const headLength = 64

/** No upstream can guess it; base64 itself, as long for every string. */
const prefix = `LongString${crypto.randomUUID().replaceAll("-", "")}`
const markLength = prefix.length + 6
const markOf = (index: number): string => `${prefix}${String(index).padStart(6, "0")}`

/** The JSON text of a long event is not read: it would hold the loop. No JSON, so its reader refuses it. */
const refused = "{"

/** The strings that were set aside of one stream. */
export class LongStrings {
  private strings: Array<Buffer> = []
  /** Strings that were forgotten: a mark never means two strings. */
  private forgotten = 0

  /** The text between two offsets of a long event with a mark for each long base64 string. */
  shorten(bytes: Buffer, start: number, end: number): string {
    let text = ""
    let copied = start
    for (let at = start; at < end; at += stride) {
      const close = bytes.indexOf(QUOTE, at)
      if (close === -1 || close >= end) break
      const open = bytes.lastIndexOf(QUOTE, at)
      if (open >= copied && open < at && close - open > longStringBytes) {
        const from = payloadStart(bytes, open + 1) + headLength
        if (isStandardBytes(bytes.subarray(from, close))) {
          text += bytes.toString("utf8", copied, from) + this.keep(bytes.subarray(from, close))
          copied = close
        }
      }
      // What lies before the next quote holds no other string.
      if (close > at) at += Math.floor((close - at) / stride) * stride
    }
    if (text.length + end - copied > mostLeft) return refused
    text += bytes.toString("utf8", copied, end)
    return hasFewValues(text) ? text : refused
  }

  /** A text with its strings where the marks stood. */
  restore(text: string): string {
    if (this.strings.length === 0 || text.length < markLength || !text.includes(prefix)) return text
    return this.pieces(text).map((piece) => typeof piece === "string" ? piece : piece.toString("latin1")).join("")
  }

  /** The same as bytes. */
  bytesOf(text: string): Buffer {
    if (this.strings.length === 0 || text.length < markLength || !text.includes(prefix)) return Buffer.from(text)
    return Buffer.concat(this.pieces(text).map((piece) => typeof piece === "string" ? Buffer.from(piece) : piece))
  }

  /** What was written for the client has its strings: the marks so far will not be seen again. */
  forget(): void {
    this.forgotten += this.strings.length
    this.strings = []
  }

  private keep(string: Buffer): string {
    // The bytes of an event are borrowed.
    return markOf(this.forgotten + this.strings.push(Buffer.from(string)) - 1)
  }

  private pieces(text: string): ReadonlyArray<string | Buffer> {
    const pieces: Array<string | Buffer> = []
    let from = 0
    for (let at = text.indexOf(prefix); at !== -1; at = text.indexOf(prefix, from)) {
      const string = this.strings[Number(text.slice(at + prefix.length, at + markLength)) - this.forgotten]
      pieces.push(text.slice(from, at), string ?? "")
      from = at + markLength
    }
    pieces.push(text.slice(from))
    return pieces
  }
}

/** Where the payload of a data URI begins, else `start`. */
const payloadStart = (bytes: Buffer, start: number): number => {
  const head = bytes.subarray(start, start + longestUriHead)
  return head.indexOf(dataUri) === 0 ? start + head.indexOf(COMMA) + 1 : start
}

/** Values and members stand behind a comma, a colon or an opening bracket. */
const hasFewValues = (text: string): boolean => {
  let values = 0
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (char === COMMA || char === COLON || char === OBJECT || char === ARRAY) values++
  }
  return values <= mostValues
}
