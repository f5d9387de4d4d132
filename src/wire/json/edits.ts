/** Changes of values deep in a JSON document: in its parsed form, of which all else is shared, and in its bytes, of which all else stays. Pure. */
import { endOfString, endOfValue, skipSpace } from "./splice.ts"
import * as Json from "./json.ts"

/**
 * A value, no value any more, or what changes in a list or an object: members by name, items by index. An index is also the name of a
 * member of an object. What is not there is made: a list where the indexes begin at 0 or are -1, else an object. A change below a value
 * that is neither list nor object, or behind the end of a list, has no effect.
 */
export type Edits = Value | Removal | ReadonlyMap<string | number, Edits>

export class Value {
  readonly to: unknown
  /** Its JSON as it is to be written; null: as JSON.stringify writes it. */
  readonly written: string | null
  /** It is only put where nothing stands, not even null. */
  readonly onlyAbsent: boolean
  constructor(to: unknown, written: string | null = null, onlyAbsent = false) {
    this.to = to
    this.written = written
    this.onlyAbsent = onlyAbsent
  }

  get text(): string {
    return this.written ?? JSON.stringify(this.to)
  }
}

export class Removal {}

/** The index that puts an item behind the last one. */
export const END = -1

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
const CLOSE_LIST = 0x5d
const CLOSE_OBJECT = 0x7d
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

const stays = (edit: Edits | undefined): boolean => edit === undefined || (edit instanceof Value && edit.onlyAbsent)

/** The value with the changes; the given value is not changed. */
export const applied = (value: unknown, edits: Edits): unknown => {
  if (edits instanceof Value) return edits.to
  if (edits instanceof Removal) return null
  const next = (member: unknown, edit: Edits | undefined): unknown => edit === undefined || stays(edit) ? member : applied(member, edit)
  if (Array.isArray(value)) {
    const kept = value.flatMap((item: unknown, i) => edits.get(i) instanceof Removal ? [] : [next(item, edits.get(i))])
    return [...kept, ...itemsFrom(edits, value.length).map((text) => JSON.parse(text) as unknown)]
  }
  if (!Json.isRecord(value)) return value
  const seen = new Set<string | number>()
  const kept = Object.entries(value).flatMap(([name, member]) => {
    const key = keyIn(edits, name)
    if (key === undefined) return [[name, member] as const]
    seen.add(key)
    const edit = edits.get(key)
    return edit instanceof Removal ? [] : [[name, next(member, edit)] as const]
  })
  return Object.fromEntries([...kept, ...membersBeside(edits, seen).map(([name, text]) => [name, JSON.parse(text) as unknown] as const)])
}

/** The key of the change of a member; undefined when it stays. */
const keyIn = (edits: ReadonlyMap<string | number, Edits>, name: string): string | number | undefined => {
  if (edits.has(name)) return name
  return /^(?:-1|0|[1-9]\d{0,8})$/.test(name) && edits.has(Number(name)) ? Number(name) : undefined
}

/** JSON of what is put behind a list of so many items. */
const itemsFrom = (edits: ReadonlyMap<string | number, Edits>, length: number): ReadonlyArray<string> => {
  const items: Array<string> = []
  for (let i = length, text = made(edits.get(i)); text !== null; text = made(edits.get(++i))) items.push(text)
  const last = made(edits.get(END))
  return last === null ? items : [...items, last]
}

/** Names and JSON of the members that an object does not have yet. */
const membersBeside = (edits: ReadonlyMap<string | number, Edits>, seen: ReadonlySet<string | number>): ReadonlyArray<readonly [string, string]> =>
  [...edits].flatMap(([key, edit]) => {
    const text = seen.has(key) ? null : made(edit)
    return text === null ? [] : [[String(key), text] as const]
  })

/** JSON of what changes make of nothing: an object where a name, or an index behind a gap, is among them. Null = nothing. */
const made = (edits: Edits | undefined): string | null => {
  if (edits === undefined || edits instanceof Removal) return null
  if (edits instanceof Value) return edits.text
  const members = membersBeside(edits, nothing)
  if (members.length === 0) return null
  const items = itemsFrom(edits, 0)
  return items.length === members.length ? `[${items.join(",")}]` : objectOf(members)
}

const nothing: ReadonlySet<string | number> = new Set()

const objectOf = (members: ReadonlyArray<readonly [string, string]>): string => `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`

/**
 * The bytes of a valid document with the changes, the same bytes when nothing changes; null when an object on the way says one name twice,
 * so that it is not known which one is read.
 */
export const inBytes = (bytes: Buffer, edits: Edits): Buffer | null => {
  const pieces: Array<Buffer> = []
  const writer = { bytes, pieces, written: 0 }
  if (walk(writer, skipSpace(bytes, 0), edits) === -1) return null
  return pieces.length === 0 ? bytes : Buffer.concat([...pieces, bytes.subarray(writer.written)])
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
    pieces.push(bytes.subarray(writer.written, at), Buffer.from(edits.text))
    writer.written = end
    return end
  }
  if (!(edits instanceof Removal)) {
    if (bytes[at] === OPEN_LIST) return walkList(writer, at, edits)
    if (bytes[at] === OPEN_OBJECT) return walkObject(writer, at, edits)
  }
  return endOfValue(bytes, at)
}

/** What stays and what goes among the values between two brackets. */
class Between {
  readonly #writer: Writer
  /** Behind the last value that stays, or behind the bracket. */
  #keptEnd: number
  #kept = 0
  /** Where the values that go begin, and end; -1 while the newest one stays. */
  #cutFrom = -1
  #cutTo = -1

  constructor(writer: Writer, open: number) {
    this.#writer = writer
    this.#keptEnd = open + 1
  }

  /** The value that begins here, with its name, stays: its own changes are written next. */
  keeps(start: number): void {
    if (this.#cutFrom === -1) return
    this.#write(this.#cutFrom, start)
    this.#cutFrom = -1
  }

  kept(end: number): void {
    this.#keptEnd = end
    this.#kept++
  }

  goes(start: number, end: number): void {
    if (this.#cutFrom === -1) this.#cutFrom = start
    this.#cutTo = end
  }

  get isCutting(): boolean {
    return this.#cutFrom !== -1
  }

  /** No value follows. `added`: what is put behind the last one. */
  end(added: ReadonlyArray<string>): void {
    if (added.length === 0 && !this.isCutting) return
    this.#write(this.#keptEnd, this.isCutting ? this.#cutTo : this.#keptEnd)
    if (added.length > 0) this.#writer.pieces.push(Buffer.from(`${this.#kept === 0 ? "" : ","}${added.join(",")}`))
  }

  /** Bytes up to the one place, and goes on at the other. */
  #write(to: number, next: number): void {
    const { bytes, pieces, written } = this.#writer
    pieces.push(bytes.subarray(written, to))
    this.#writer.written = next
  }
}

const walkList = (writer: Writer, from: number, edits: ReadonlyMap<string | number, Edits>): number => {
  const { bytes } = writer
  const between = new Between(writer, from)
  let left = edits.size
  let at = skipSpace(bytes, from + 1)
  let length = 0
  while (bytes[at] !== CLOSE_LIST) {
    if (left === 0 && !between.isCutting) return endOfRest(bytes, at)
    const edit = edits.get(length++)
    if (edit !== undefined) left--
    const end = walkOne(writer, between, at, at, edit)
    if (end === -1) return -1
    at = skipSpace(bytes, end)
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1)
    else if (bytes[at] !== CLOSE_LIST) return -1
  }
  between.end(itemsFrom(edits, length))
  return at + 1
}

const walkObject = (writer: Writer, from: number, edits: ReadonlyMap<string | number, Edits>): number => {
  const { bytes } = writer
  const between = new Between(writer, from)
  const seen = new Set<string | number>()
  let at = skipSpace(bytes, from + 1)
  while (bytes[at] === QUOTE) {
    const start = at
    const keyEnd = endOfString(bytes, at)
    const key = keyIn(edits, nameIn(bytes, at, keyEnd))
    if (key !== undefined && seen.has(key)) return -1
    const colon = skipSpace(bytes, keyEnd)
    if (keyEnd === -1 || bytes[colon] !== COLON) return -1
    if (key !== undefined) seen.add(key)
    const end = walkOne(writer, between, start, skipSpace(bytes, colon + 1), key === undefined ? undefined : edits.get(key))
    if (end === -1) return -1
    at = skipSpace(bytes, end)
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1)
  }
  if (bytes[at] !== CLOSE_OBJECT) return -1
  between.end(membersBeside(edits, seen).map(([name, text]) => `${JSON.stringify(name)}:${text}`))
  return at + 1
}

/** `start`: of the value with its name; `at`: of the value. Answers its end; -1 as above. */
const walkOne = (writer: Writer, between: Between, start: number, at: number, edit: Edits | undefined): number => {
  if (edit instanceof Removal) {
    const end = endOfValue(writer.bytes, at)
    between.goes(start, end)
    return end
  }
  between.keeps(start)
  const end = edit === undefined || stays(edit) ? endOfValue(writer.bytes, at) : walk(writer, at, edit)
  if (end !== -1) between.kept(end)
  return end
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
