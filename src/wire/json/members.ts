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

/** The text that a value is; null for what is no string. */
export const text = (json: Buffer | undefined): string | null => {
  if (json === undefined || json[0] !== QUOTE) return null
  try {
    const value: unknown = JSON.parse(json.toString("utf8"))
    return typeof value === "string" ? value : null
  } catch {
    return null
  }
}
