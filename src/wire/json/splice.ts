/**
 * Changes top-level members of a JSON object by splicing bytes, so that a body keeps every other byte (unknown fields, number
 * spelling, key order) and a long prompt is neither walked nor re-stringified to change its model.
 *
 * A member is found by its quoted key: when the key's bytes occur once in the whole body and are followed by `:` and the
 * value that JSON.parse saw, that is it. Otherwise (the key also occurs deeper, or twice) the top level is scanned.
 */
const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const COMMA = 0x2c
/** Keys whose bytes are kept. */
const MOST_NEEDLES = 64

/** Byte range of a value. */
interface Range {
  readonly start: number
  readonly end: number
}

/** A member: where its key begins, and its value. */
interface Member extends Range {
  readonly keyStart: number
}

export interface Edit {
  readonly key: string
  /** JSON text of the new value. */
  readonly value: string
  /** The member's new name; absent: it keeps its own. */
  readonly as?: string
}

/**
 * Applies the edits to `body`, whose parsed form is `parsed`: replaces the value of a present key (every occurrence of it, as
 * JSON keeps the last), inserts an absent one at the front. Answers null when a key cannot be found though `parsed` has it
 * (written with escapes): the caller re-stringifies.
 */
export const edit = (body: Buffer, parsed: Readonly<Record<string, unknown>>, edits: ReadonlyArray<Edit>): Buffer | null => {
  const sole = edits[0]
  if (edits.length === 1 && sole !== undefined && Object.hasOwn(parsed, sole.key)) {
    // Most requests change their model and nothing else: no lists and ranges.
    const start = sole.as === undefined ? soleString(body, sole.key, parsed[sole.key]) : -1
    if (start !== -1) return between(body, start, endOfString(body, start), sole.value)
  }
  const changes: Array<{ readonly range: Range; readonly text: string }> = []
  let inserted = ""
  for (const { as, key, value } of edits) {
    if (!Object.hasOwn(parsed, key)) {
      inserted += `${JSON.stringify(as ?? key)}:${value},`
      continue
    }
    const ranges = as === undefined ? rangesOf(body, key, parsed[key]) : wholeMembers(body, key)
    if (ranges.length === 0) return null
    const text = as === undefined ? value : `${JSON.stringify(as)}:${value}`
    for (const range of ranges) changes.push({ range, text })
  }
  changes.sort((a, b) => a.range.start - b.range.start)
  const parts: Array<Buffer> = []
  let at = 0
  if (inserted !== "") {
    const open = body.indexOf(0x7b) + 1
    // An empty object takes no trailing comma; a chat request is never empty, but the function is total.
    const text = Object.keys(parsed).length === 0 ? inserted.slice(0, -1) : inserted
    parts.push(body.subarray(0, open), Buffer.from(text))
    at = open
  }
  for (const { range, text } of changes) {
    parts.push(body.subarray(at, range.start), Buffer.from(text))
    at = range.end
  }
  parts.push(body.subarray(at))
  return Buffer.concat(parts)
}

/** The body with another text in one place, as most requests change their model: one new buffer and no views. */
export const replaced = (body: Buffer, { end, start }: Range, text: string): Buffer => between(body, start, end, text)

const between = (body: Buffer, start: number, end: number, text: string): Buffer => {
  const bytes = Buffer.byteLength(text)
  const out = Buffer.allocUnsafe(body.length - (end - start) + bytes)
  body.copy(out, 0, 0, start)
  out.write(text, start)
  body.copy(out, start + bytes, end)
  return out
}

/** Removes a top-level member, every occurrence of it, each with its comma. */
export const remove = (body: Buffer, key: string): Buffer => {
  const parts: Array<Buffer> = []
  let at = 0
  let isLast = false
  for (const { end, keyStart } of scanTopLevel(body, key)) {
    parts.push(body.subarray(at, keyStart))
    at = skipSpace(body, end)
    isLast = body[at] !== COMMA
    if (!isLast) at = skipSpace(body, at + 1)
  }
  if (at === 0) return body
  const before = Buffer.concat(parts)
  const end = trimEnd(before, 0, before.length)
  // What follows the last member has no comma before it, so the one that was kept goes.
  const kept = isLast && before[end - 1] === COMMA ? before.subarray(0, end - 1) : before
  return Buffer.concat([kept, body.subarray(at)])
}

/** The bytes of the member that JSON.parse keeps; null when its key cannot be found (it is absent, or written with escapes). */
export const memberOf = (body: Buffer, key: string): Buffer | null => {
  const last = scanTopLevel(body, key).at(-1)
  return last === undefined ? null : body.subarray(last.start, last.end)
}

const rangesOf = (body: Buffer, key: string, value: unknown): ReadonlyArray<Range> => {
  const start = soleString(body, key, value)
  if (start !== -1) return [{ start, end: endOfString(body, start) }]
  return body.indexOf(needleOf(key)) === -1 ? [] : scanTopLevel(body, key)
}

/** Keys and values of the member, every occurrence of it. */
const wholeMembers = (body: Buffer, key: string): ReadonlyArray<Range> =>
  scanTopLevel(body, key).map(({ end, keyStart }) => ({ start: keyStart, end }))

/** Where this text is the value of the key, whose bytes occur once; -1 when that cannot be said. */
const soleString = (body: Buffer, key: string, value: unknown): number => {
  const needle = needleOf(key)
  const first = body.indexOf(needle)
  if (first === -1 || typeof value !== "string" || body.indexOf(needle, first + needle.length) !== -1) return -1
  const start = afterColon(body, first + needle.length)
  if (start === -1 || body[start] !== QUOTE) return -1
  const end = endOfString(body, start)
  return end !== -1 && sameString(body, start, end, value) ? start : -1
}

/** The quoted keys that were looked for; callers look for few. */
const needles = new Map<string, Buffer>()

const needleOf = (key: string): Buffer => {
  const known = needles.get(key)
  if (known !== undefined) return known
  const needle = Buffer.from(JSON.stringify(key))
  if (needles.size < MOST_NEEDLES) needles.set(key, needle)
  return needle
}

const afterColon = (body: Buffer, from: number): number => {
  const at = skipSpace(body, from)
  return body[at] === COLON ? skipSpace(body, at + 1) : -1
}

export const skipSpace = (body: Buffer, from: number): number => {
  let i = from
  while (i < body.length && (body[i] === 0x20 || body[i] === 0x0a || body[i] === 0x0d || body[i] === 0x09)) i++
  return i
}

/** Bytes of a string that are looked at one by one; a native search costs as much as 100 of them. */
const SHORT_STRING = 64

/** Offset after the closing quote of the string that opens at `start`, -1 when it never closes. */
export const endOfString = (body: Buffer, start: number): number => {
  const near = Math.min(body.length, start + SHORT_STRING)
  for (let i = start + 1; i < near; i++) {
    const byte = body[i]
    if (byte === QUOTE) return i + 1
    if (byte === BACKSLASH) i++
  }
  return endOfLongString(body, start)
}

const endOfLongString = (body: Buffer, start: number): number => {
  let quote = body.indexOf(QUOTE, start + 1)
  while (quote !== -1) {
    let i = quote - 1
    while (i > start && body[i] === BACKSLASH) i--
    if ((quote - 1 - i) % 2 === 0) return quote + 1
    quote = body.indexOf(QUOTE, quote + 1)
  }
  return -1
}

const sameString = (body: Buffer, start: number, end: number, value: string): boolean => {
  // Most are short and plain: no text is made of them.
  if (end - start - 2 === value.length && isPlainly(body, start + 1, value)) return true
  const text = body.toString("utf8", start + 1, end - 1)
  if (!text.includes("\\")) return text === value
  try {
    return JSON.parse(body.toString("utf8", start, end)) === value
  } catch {
    return false
  }
}

/** The bytes are this text, letter by letter; false says nothing of a text with escapes or wider characters. */
const isPlainly = (body: Buffer, start: number, value: string): boolean => {
  for (let i = 0; i < value.length; i++) {
    const byte = body[start + i]
    if (byte === BACKSLASH || byte === undefined || byte > 0x7f || byte !== value.charCodeAt(i)) return false
  }
  return true
}

/** Every member `key` at depth one. The body is known to be valid JSON. */
const scanTopLevel = (body: Buffer, key: string): ReadonlyArray<Member> => {
  const found: Array<Member> = []
  let depth = 0
  let i = 0
  let expectKey = false
  while (i < body.length) {
    const byte = body[i]
    if (byte === QUOTE) {
      const end = endOfString(body, i)
      if (end === -1) return found
      if (depth === 1 && expectKey) {
        expectKey = false
        const start = afterColon(body, end)
        if (start !== -1 && sameString(body, i, end, key)) {
          const stop = endOfValue(body, start)
          found.push({ keyStart: i, start, end: stop })
          i = stop
          continue
        }
      }
      i = end
      continue
    }
    if (byte === 0x7b || byte === 0x5b) {
      depth++
      if (depth === 1) expectKey = true
    } else if (byte === 0x7d || byte === 0x5d) depth--
    else if (byte === COMMA && depth === 1) expectKey = true
    i++
  }
  return found
}

export const endOfValue = (body: Buffer, start: number): number => {
  let depth = 0
  let i = start
  while (i < body.length) {
    const byte = body[i]
    if (byte === QUOTE) {
      i = endOfString(body, i)
      if (i === -1) return body.length
      if (depth === 0) return i
      continue
    }
    if (byte === 0x7b || byte === 0x5b) depth++
    else if (byte === 0x7d || byte === 0x5d) {
      if (depth === 0) return trimEnd(body, start, i)
      depth--
      if (depth === 0) return i + 1
    } else if (byte === COMMA && depth === 0) return trimEnd(body, start, i)
    i++
  }
  return trimEnd(body, start, i)
}

const trimEnd = (body: Buffer, start: number, end: number): number => {
  let i = end
  while (i > start && (body[i - 1] === 0x20 || body[i - 1] === 0x0a || body[i - 1] === 0x0d || body[i - 1] === 0x09)) i--
  return i
}
