/** Changes of values deep in a JSON document: in its parsed form, of which all else is shared, and in its bytes, of which all else stays. Pure. */
import { endOfString, endOfValue, skipSpace } from "./splice.ts"
import * as Json from "./json.ts"

/** A new value, or what changes in a list or an object: members by name, items by index. */
export type Edits = Value | ReadonlyMap<string | number, Edits>

export class Value {
  readonly to: unknown
  constructor(to: unknown) {
    this.to = to
  }
}

/** A new value at the end of a path of members and indexes, from the outermost value on. Plain data: threads are given it. */
export interface Change {
  readonly path: ReadonlyArray<string | number>
  readonly to: unknown
}

/** The changes by the steps of their paths; null when there are none. */
export const at = (changes: ReadonlyArray<Change>): Edits | null => {
  if (changes.length === 0) return null
  const root: Map<string | number, Edits> = new Map()
  for (const { path, to } of changes) {
    let place = root
    for (const step of path.slice(0, -1)) {
      const below = place.get(step)
      const next: Map<string | number, Edits> = below instanceof Map ? below : new Map()
      place.set(step, next)
      place = next
    }
    place.set(path.at(-1) ?? "", new Value(to))
  }
  return root
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_OBJECT = 0x7b
const OPEN_LIST = 0x5b
const COMMA = 0x2c
const COLON = 0x3a

/** The changes of the items or members that `visit` changes; null when there are none. */
export const each = (value: unknown, visit: (child: unknown, name: string | number) => Edits | null): Edits | null => {
  let edits: Map<string | number, Edits> | null = null
  const names: Iterable<string | number> = Array.isArray(value) ? value.keys() : Json.isRecord(value) ? Object.keys(value) : []
  for (const name of names) {
    const edit = visit((value as Record<string | number, unknown>)[name], name)
    if (edit !== null) (edits ??= new Map()).set(name, edit)
  }
  return edits
}

/** The value with the changes; the given value is not changed. */
export const applied = (value: unknown, edits: Edits): unknown => {
  if (edits instanceof Value) return edits.to
  if (Array.isArray(value)) return value.map((item: unknown, i) => {
    const edit = edits.get(i)
    return edit === undefined ? item : applied(item, edit)
  })
  if (!Json.isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => {
    const edit = edits.get(name)
    return [name, edit === undefined ? member : applied(member, edit)]
  }))
}

/** The bytes of a valid document with the changes; null when an object on the way says one name twice, so that it is not known which one is read. */
export const inBytes = (bytes: Buffer, edits: Edits): Buffer | null => {
  const pieces: Array<Buffer> = []
  const writer = { bytes, pieces, written: 0 }
  if (walk(writer, skipSpace(bytes, 0), edits) === -1) return null
  return Buffer.concat([...pieces, bytes.subarray(writer.written)])
}

/** The bytes with the changes, in any case; the same bytes where there are none. `document`: what the bytes say. */
export const bytesWith = (bytes: Buffer, document: unknown, changes: ReadonlyArray<Change>): Buffer => {
  const edits = at(changes)
  return edits === null ? bytes : inBytes(bytes, edits) ?? Buffer.from(JSON.stringify(applied(document, edits)))
}

/** The document with the changes. */
export const documentWith = <A>(document: A, changes: ReadonlyArray<Change>): A => {
  const edits = at(changes)
  return edits === null ? document : applied(document, edits) as A
}

interface Writer {
  readonly bytes: Buffer
  readonly pieces: Array<Buffer>
  /** Bytes up to here are in the pieces. */
  written: number
}

/** Answers where the value ends; -1 as above. */
const walk = (writer: Writer, at: number, edits: Edits): number => {
  const { bytes, pieces } = writer
  if (edits instanceof Value) {
    const end = endOfValue(bytes, at)
    pieces.push(bytes.subarray(writer.written, at), Buffer.from(JSON.stringify(edits.to)))
    writer.written = end
    return end
  }
  if (bytes[at] === OPEN_LIST) return walkList(writer, at, edits)
  return bytes[at] === OPEN_OBJECT ? walkObject(writer, at, edits) : -1
}

const walkList = (writer: Writer, from: number, edits: ReadonlyMap<string | number, Edits>): number => {
  const { bytes } = writer
  let left = edits.size
  let at = skipSpace(bytes, from + 1)
  for (let i = 0; left > 0; i++) {
    const edit = edits.get(i)
    if (edit !== undefined) left--
    const end = edit === undefined ? endOfValue(bytes, at) : walk(writer, at, edit)
    if (end === -1) return -1
    at = skipSpace(bytes, end)
    if (bytes[at] !== COMMA) return left === 0 ? at + 1 : -1
    at = skipSpace(bytes, at + 1)
  }
  return endOfRest(bytes, at)
}

const walkObject = (writer: Writer, from: number, edits: ReadonlyMap<string | number, Edits>): number => {
  const { bytes } = writer
  const seen = new Set<string>()
  let at = skipSpace(bytes, from + 1)
  while (bytes[at] === QUOTE) {
    const keyEnd = endOfString(bytes, at)
    const name = nameIn(bytes, at, keyEnd)
    const edit = edits.get(name)
    if (edit !== undefined && seen.has(name)) return -1
    const colon = skipSpace(bytes, keyEnd)
    if (keyEnd === -1 || bytes[colon] !== COLON) return -1
    at = skipSpace(bytes, colon + 1)
    if (edit !== undefined) seen.add(name)
    const end = edit === undefined ? endOfValue(bytes, at) : walk(writer, at, edit)
    if (end === -1) return -1
    at = skipSpace(bytes, end)
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1)
  }
  return seen.size === edits.size ? at + 1 : -1
}

const nameIn = (bytes: Buffer, start: number, end: number): string => {
  const text = bytes.toString("utf8", start + 1, end - 1)
  return bytes.subarray(start, end).includes(BACKSLASH) ? JSON.parse(`"${text}"`) as string : text
}

/** The end of a list of which the items from here on do not change. */
const endOfRest = (bytes: Buffer, from: number): number => {
  let at = from
  for (;;) {
    at = skipSpace(bytes, endOfValue(bytes, at))
    if (bytes[at] !== COMMA) return at + 1
    at = skipSpace(bytes, at + 1)
  }
}
