/** Puts items into a list of a JSON object: into the parsed list, or into its bytes, which keep every other item as it was written. Pure. */
import { endOfValue, memberOf, skipSpace } from "./splice.ts"

export interface Insertion {
  /** Index of the item that it stands before; the length of the list = at its end. */
  readonly at: number
  readonly item: unknown
}

/** `insertions`: the lowest index first. */
export const inserted = (list: unknown, insertions: ReadonlyArray<Insertion>): ReadonlyArray<unknown> => {
  const items = Array.isArray(list) ? [...list] : []
  for (const { at, item } of insertions.toReversed()) items.splice(at, 0, item)
  return items
}

/** JSON text of the member `name` of `body`, whose parsed form is `parsed`, with the items in it. */
export const insertedInto = (body: Buffer, parsed: Readonly<Record<string, unknown>>, name: string, insertions: ReadonlyArray<Insertion>): string => {
  const list = parsed[name]
  const length = Array.isArray(list) ? list.length : 0
  const bytes = length === 0 ? null : memberOf(body, name)
  if (bytes === null) return JSON.stringify(inserted(list, insertions))
  const pieces: Array<string> = []
  let written = 0
  let item = skipSpace(bytes, 1)
  let index = 0
  for (const { at, item: value } of insertions) {
    // Of the last one, its end; of the others, the beginning of the next.
    for (; index < at; index++) {
      const end = endOfValue(bytes, item)
      const after = skipSpace(bytes, end)
      item = bytes[after] === COMMA ? skipSpace(bytes, after + 1) : end
    }
    const text = JSON.stringify(value)
    pieces.push(bytes.toString("utf8", written, item), at < length ? `${text},` : `,${text}`)
    written = item
  }
  return `${pieces.join("")}${bytes.toString("utf8", written)}`
}

export interface Replacement {
  /** Index of the item that goes. */
  readonly at: number
  readonly item: unknown
}

/** The same with other items in the place of some; the lowest index first. */
export const replacedIn = (body: Buffer, parsed: Readonly<Record<string, unknown>>, name: string, replacements: ReadonlyArray<Replacement>): string => {
  const bytes = memberOf(body, name)
  if (bytes === null) {
    const list = parsed[name]
    const items: Array<unknown> = Array.isArray(list) ? [...list] : []
    for (const { at, item } of replacements) items[at] = item
    return JSON.stringify(items)
  }
  const pieces: Array<string> = []
  let written = 0
  let item = skipSpace(bytes, 1)
  let index = 0
  for (const { at, item: value } of replacements) {
    for (; index < at; index++) item = skipSpace(bytes, skipSpace(bytes, endOfValue(bytes, item)) + 1)
    pieces.push(bytes.toString("utf8", written, item), JSON.stringify(value))
    written = endOfValue(bytes, item)
  }
  return `${pieces.join("")}${bytes.toString("utf8", written)}`
}

const COMMA = 0x2c
