/**
 * Applies a provider's body rules to the bytes of a request body: members that the provider refuses are cut out, constants that
 * it asks for are put in. Every other byte stays (unknown fields, number spelling, key order). Pure.
 */
import type { BodyRules } from "#schemas/Provider.ts"

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN = 0x7b
const CLOSE = 0x7d
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d

const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

const skipBlanks = (body: Uint8Array, from: number): number => {
  let at = from
  while (isBlank(body[at])) at++
  return at
}

/** Index behind the string that starts at `from`. */
const endOfString = (body: Uint8Array, from: number): number => {
  let at = from + 1
  while (at < body.length && body[at] !== QUOTE) at += body[at] === BACKSLASH ? 2 : 1
  return at + 1
}

/** Index behind the value that starts at `from`: the comma or brace of the object around it, or blanks before them. */
const endOfValue = (body: Uint8Array, from: number): number => {
  let depth = 0
  let at = from
  while (at < body.length) {
    const byte = body[at]
    if (byte === QUOTE) {
      at = endOfString(body, at)
      continue
    }
    if (byte === OPEN || byte === OPEN_LIST) depth++
    else if (byte === CLOSE || byte === CLOSE_LIST) {
      if (depth === 0) return at
      depth--
    } else if (byte === COMMA && depth === 0) return at
    at++
  }
  return at
}

/** The body under the rules; bytes that are no JSON object are answered as they are. */
export const apply = (rules: BodyRules, body: Uint8Array): Uint8Array => {
  const open = skipBlanks(body, 0)
  if (body[open] !== OPEN) return body
  const decoder = new TextDecoder()
  const unwanted = new Set([...rules.drop ?? [], ...Object.keys(rules.add ?? {})])
  const parts: Array<Uint8Array> = []
  let members = 0
  const put = (bytes: Uint8Array): void => {
    parts.push(new Uint8Array([members++ === 0 ? OPEN : COMMA]), bytes)
  }
  for (const [name, value] of Object.entries(rules.add ?? {})) put(Buffer.from(`${JSON.stringify(name)}:${JSON.stringify(value)}`))
  let at = skipBlanks(body, open + 1)
  while (body[at] === QUOTE) {
    const keyEnd = endOfString(body, at)
    const colon = skipBlanks(body, keyEnd)
    if (body[colon] !== COLON) return body
    const end = endOfValue(body, colon + 1)
    if (!unwanted.has(JSON.parse(decoder.decode(body.subarray(at, keyEnd))) as string)) put(body.subarray(at, end))
    at = body[end] === COMMA ? skipBlanks(body, end + 1) : end
  }
  if (body[at] !== CLOSE) return body
  parts.push(Buffer.from(members === 0 ? "{}" : "}"))
  return Buffer.concat(parts)
}
