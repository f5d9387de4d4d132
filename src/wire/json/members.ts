/**
 * The members of a JSON object as byte ranges, so that a message's envelope is opened without parsing what it carries. Values are not
 * checked: their reader does that.
 */
import { endOfString, endOfValue, skipSpace } from "./splice.ts"

export type Members = ReadonlyMap<string, Buffer>

const QUOTE = 0x22
const COLON = 0x3a
const COMMA = 0x2c
const OPEN = 0x7b
const CLOSE = 0x7d

/** Views of the values by name, the last one of a repeated name; null for what is no object. */
export const of = (json: Buffer): Members | null => {
  const members = new Map<string, Buffer>()
  let i = skipSpace(json, 0)
  if (json[i] !== OPEN) return null
  i = skipSpace(json, i + 1)
  if (json[i] === CLOSE) return skipSpace(json, i + 1) === json.length ? members : null
  for (;;) {
    if (json[i] !== QUOTE) return null
    const end = endOfString(json, i)
    if (end === -1) return null
    const name = text(json.subarray(i, end))
    i = skipSpace(json, end)
    if (name === null || json[i] !== COLON) return null
    const start = skipSpace(json, i + 1)
    i = endOfValue(json, start)
    if (i === start) return null
    members.set(name, json.subarray(start, i))
    i = skipSpace(json, i)
    if (json[i] === CLOSE) return skipSpace(json, i + 1) === json.length ? members : null
    if (json[i] !== COMMA) return null
    i = skipSpace(json, i + 1)
  }
}

/** An object of the members, as its pieces. */
export const write = (members: Iterable<readonly [name: string, value: Buffer | string]>): Buffer => {
  const parts: Array<Buffer> = []
  for (const [name, value] of members) {
    parts.push(Buffer.from(`${parts.length === 0 ? "{" : ","}${JSON.stringify(name)}:`), typeof value === "string" ? Buffer.from(value) : value)
  }
  return parts.length === 0 ? Buffer.from("{}") : Buffer.concat([...parts, Buffer.from("}")])
}

/** The JSON text of a list's items without its brackets; null for what is no list. */
export const itemsOf = (json: Buffer | undefined): Buffer | null =>
  json !== undefined && json[0] === 0x5b && json[json.length - 1] === 0x5d ? json.subarray(skipSpace(json, 1), json.length - 1) : null

const BACKSLASH = 0x5c
const SPACE = 0x20
const DELETE = 0x7f
/** Bytes up to which a plain text is looked for byte by byte. */
const SHORT_TEXT = 64

/** A short text of visible ASCII characters without an escape. */
const isPlain = (json: Buffer): boolean => {
  if (json.length > SHORT_TEXT || json.length < 2 || json[json.length - 1] !== QUOTE) return false
  for (let i = 1; i < json.length - 1; i++) {
    const byte = json[i] as number
    if (byte < SPACE || byte >= DELETE || byte === BACKSLASH || byte === QUOTE) return false
  }
  return true
}

/** The text that a value is; null for what is no string. */
export const text = (json: Buffer | undefined): string | null => {
  if (json === undefined || json[0] !== QUOTE) return null
  if (isPlain(json)) return json.toString("latin1", 1, json.length - 1)
  try {
    const value: unknown = JSON.parse(json.toString("utf8"))
    return typeof value === "string" ? value : null
  } catch {
    return null
  }
}
