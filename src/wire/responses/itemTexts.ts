/** Input and output of the responses format as JSON texts of items, without the brackets of their list: nothing is parsed to be put together. */
import * as Json from "#src/wire/json/json.ts"
import { endOfValue, skipSpace } from "#src/wire/json/splice.ts"
import * as Members from "#src/wire/json/members.ts"

const comma = Buffer.from(",")
const noItems = Buffer.alloc(0)

/** A text is one message of the user; null for what is neither a text nor a list. */
export const ofInput = (input: Buffer | undefined): Buffer | null => {
  if (input === undefined) return noItems
  const items = Members.itemsOf(input)
  if (items !== null) return items
  return Members.text(input) === null ? null : Members.write([["type", "\"message\""], ["role", "\"user\""], ["content", input]])
}

export const joined = (...lists: ReadonlyArray<Buffer>): Buffer => {
  const filled = lists.filter((list) => !isBlank(list))
  return Buffer.concat(filled.flatMap((list, i) => i === 0 ? [list] : [comma, list]))
}

const isBlank = (list: Buffer): boolean => {
  for (const byte of list) if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return false
  return true
}

/** Each item by itself. */
export const each = (items: Buffer): ReadonlyArray<Buffer> => {
  const found: Array<Buffer> = []
  for (let at = skipSpace(items, 0); at < items.length;) {
    const end = endOfValue(items, at)
    if (end === at) break
    found.push(items.subarray(at, end))
    const comma = skipSpace(items, end)
    if (items[comma] !== 0x2c) break
    at = skipSpace(items, comma + 1)
  }
  return found
}

/** As a list. */
export const list = (items: Buffer): Buffer => Buffer.concat([Buffer.from("["), items, Buffer.from("]")])

/** Output items as input: reasoning without its encrypted content means nothing to a server that did not store it. */
export const replayed = (output: Buffer): Buffer => {
  const items = parsed(output)
  return Buffer.from(JSON.stringify(items.filter((item) => !Json.isRecord(item) || item["type"] !== "reasoning" || typeof item["encrypted_content"] === "string")).slice(1, -1))
}

/** The items of a list; none of what is no list. */
export const parsed = (json: Buffer): ReadonlyArray<unknown> => {
  try {
    const items: unknown = JSON.parse(json.toString("utf8"))
    return Array.isArray(items) ? items : []
  } catch {
    return []
  }
}
