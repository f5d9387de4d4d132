/**
 * Finds the vectors in the bytes of an embeddings answer without parsing their numbers: an answer may hold megabytes of them, and only
 * its model is changed. Pure.
 */
import { endOfString, endOfValue, skipSpace } from "#src/wire/json/splice.ts"

const QUOTE = 0x22
const BACKSLASH = 0x5c
const ZERO = 0x30
const NINE = 0x39
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN = 0x7b
const CLOSE = 0x7d

/** Byte range of a value. */
export interface Range {
  readonly start: number
  readonly end: number
}

export interface Vector extends Range {
  readonly index: number
  /** It stands as base64 text and not as a list of numbers. */
  readonly isText: boolean
}

/** Members of `usage`; null where one is missing or no count. */
export interface Counted {
  readonly prompt: number | null
  readonly total: number | null
}

export interface FoundVector {
  readonly model: Range | null
  readonly usage: Range & Counted | null
  /** As they stand. */
  readonly vectors: ReadonlyArray<Vector>
}

type Key = "data" | "embedding" | "index" | "model" | "prompt_tokens" | "total_tokens" | "usage"

/** Keys are compared as bytes: to make a string of each would cost more than all the rest. */
const keys: ReadonlyArray<readonly [Key, Buffer]> = (["data", "embedding", "index", "model", "prompt_tokens", "total_tokens", "usage"] as const).map((key) => [key, Buffer.from(key)])

/** The key that stands between two quotes; null for any other. */
const keyIn = (body: Buffer, start: number, end: number): Key | null => {
  for (const [key, bytes] of keys) if (bytes.length === end - start && stands(body, start, bytes)) return key
  return null
}

const stands = (body: Buffer, start: number, bytes: Buffer): boolean => {
  for (let i = 0; i < bytes.length; i++) if (body[start + i] !== bytes[i]) return false
  return true
}

/** Offset after the closing quote of a key, which is short; -1 when it never closes. */
const endOfKey = (body: Buffer, start: number): number => {
  for (let i = start + 1; i < body.length; i++) {
    if (body[i] === QUOTE) return i + 1
    if (body[i] === BACKSLASH) return endOfString(body, start)
  }
  return -1
}

const numberIn = (body: Buffer, start: number, end: number): number => {
  const digit = body[start] ?? 0
  return end - start === 1 && digit >= ZERO && digit <= NINE ? digit - ZERO : Number(body.toString("latin1", start, end))
}

const countIn = (body: Buffer, start: number, end: number): number | null => {
  const count = numberIn(body, start, end)
  return count >= 0 ? count : null
}

/** Where a value ends; -1 when it is none that is expected here. */
type Value = (key: Key | null, start: number) => number

/** Walks the members of the object that opens at `open`; answers the offset behind it, -1 for what is no object. */
const members = (body: Buffer, open: number, value: Value): number => {
  if (body[open] !== OPEN) return -1
  let at = skipSpace(body, open + 1)
  if (body[at] === CLOSE) return at + 1
  while (body[at] === QUOTE) {
    const end = endOfKey(body, at)
    const colon = end < 0 ? -1 : skipSpace(body, end)
    if (colon < 0 || body[colon] !== COLON) return -1
    const stop = value(keyIn(body, at + 1, end - 1), skipSpace(body, colon + 1))
    if (stop < 0) return -1
    at = skipSpace(body, stop)
    if (body[at] === CLOSE) return at + 1
    if (body[at] !== COMMA) return -1
    at = skipSpace(body, at + 1)
  }
  return -1
}

/** The same of the list that opens at `open`. */
const items = (body: Buffer, open: number, item: (start: number) => number): number => {
  if (body[open] !== OPEN_LIST) return -1
  let at = skipSpace(body, open + 1)
  if (body[at] === CLOSE_LIST) return at + 1
  for (;;) {
    const stop = item(at)
    if (stop < 0) return -1
    at = skipSpace(body, stop)
    if (body[at] === CLOSE_LIST) return at + 1
    if (body[at] !== COMMA) return -1
    at = skipSpace(body, at + 1)
  }
}

/** A list of numbers, whose end is the next bracket, or a text. */
const endOfVector = (body: Buffer, start: number): number =>
  body[start] === QUOTE ? endOfString(body, start) : body[start] === OPEN_LIST ? body.indexOf(CLOSE_LIST, start) + 1 || -1 : -1

/** Null when the bytes are no answer with vectors. */
export const find = (body: Buffer): FoundVector | null => {
  const vectors: Array<Vector> = []
  let model: Range | null = null
  let usage: Range & Counted | null = null

  const usageAt = (open: number): number => {
    let prompt: number | null = null
    let total: number | null = null
    const end = body[open] !== OPEN ? endOfValue(body, open) : members(body, open, (key, start) => {
      const stop = endOfValue(body, start)
      if (key === "prompt_tokens") prompt = countIn(body, start, stop)
      else if (key === "total_tokens") total = countIn(body, start, stop)
      return stop
    })
    usage = { start: open, end, prompt, total }
    return end
  }

  const vectorAt = (open: number): number => {
    let index = vectors.length
    let found: Range | null = null
    const end = members(body, open, (key, start) => {
      const stop = key === "embedding" ? endOfVector(body, start) : endOfValue(body, start)
      if (key === "embedding") found = { start, end: stop }
      else if (key === "index") index = numberIn(body, start, stop)
      return stop
    })
    if (end < 0 || found === null || !Number.isSafeInteger(index)) return -1
    const range: Range = found
    vectors.push({ index, isText: body[range.start] === QUOTE, start: range.start, end: range.end })
    return end
  }

  const end = members(body, skipSpace(body, 0), (key, start) => {
    if (key === "data") return items(body, start, vectorAt)
    if (key === "usage") return usageAt(start)
    const stop = endOfValue(body, start)
    if (key === "model") model = { start, end: stop }
    return stop
  })
  return end < 0 || vectors.length === 0 || skipSpace(body, end) !== body.length ? null : { model, usage, vectors }
}
