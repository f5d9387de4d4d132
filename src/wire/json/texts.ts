/**
 * Says texts of a JSON document anew, each by its path: in the parsed form, of which only what leads to a text is copied, and in the
 * bytes, of which every other byte stays. Pure.
 */
import * as Json from "./json.ts"
import { endOfString, endOfValue, skipSpace } from "./splice.ts"

export interface NewText {
  /** Members and indexes from the outermost object on. */
  readonly path: ReadonlyArray<string | number>
  readonly text: string
}

/** New texts by the steps of their paths. */
type Tree = Map<string | number, Tree | string>

const treeOf = (texts: ReadonlyArray<NewText>): Tree => {
  const root: Tree = new Map()
  for (const { path, text } of texts) {
    let tree = root
    for (const step of path.slice(0, -1)) {
      const next = tree.get(step)
      if (next instanceof Map) tree = next
      else {
        const made: Tree = new Map()
        tree.set(step, made)
        tree = made
      }
    }
    tree.set(path.at(-1) ?? "", text)
  }
  return root
}

/** The parsed document with the texts. */
export const ofBody = (body: Readonly<Record<string, unknown>>, texts: ReadonlyArray<NewText>): Record<string, unknown> => changed(body, treeOf(texts)) as Record<string, unknown>

const changed = (value: unknown, tree: Tree): unknown => {
  if (Array.isArray(value)) return value.map((item, i) => inner(item, tree.get(i)))
  if (!Json.isRecord(value)) return value
  const copy: Record<string, unknown> = { ...value }
  for (const [name, next] of tree) if (typeof name === "string" && Object.hasOwn(value, name)) copy[name] = inner(value[name], next)
  return copy
}

const inner = (value: unknown, next: Tree | string | undefined): unknown =>
  next === undefined ? value : next instanceof Map ? changed(value, next) : typeof value === "string" ? next : value

interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** The document's bytes with the texts. */
export const inBytes = (bytes: Buffer, texts: ReadonlyArray<NewText>): Buffer => {
  const edits: Array<Edit> = []
  walk(bytes, skipSpace(bytes, 0), treeOf(texts), edits)
  const parts: Array<Buffer> = []
  let at = 0
  for (const { end, start, text } of edits) {
    parts.push(bytes.subarray(at, start), Buffer.from(JSON.stringify(text)))
    at = end
  }
  parts.push(bytes.subarray(at))
  return Buffer.concat(parts)
}

const OBJECT = 0x7b
const LIST = 0x5b
const QUOTE = 0x22
const COMMA = 0x2c

/** Finds the texts below the value that begins at `start`; answers where the value ends. */
const walk = (bytes: Buffer, start: number, tree: Tree, edits: Array<Edit>): number => {
  const kind = bytes[start]
  if (kind !== OBJECT && kind !== LIST) return endOfValue(bytes, start)
  let at = skipSpace(bytes, start + 1)
  for (let i = 0; at < bytes.length && bytes[at] !== 0x7d && bytes[at] !== 0x5d; i++) {
    let step: string | number = i
    if (kind === OBJECT) {
      const end = endOfString(bytes, at)
      step = JSON.parse(bytes.toString("utf8", at, end)) as string
      // Behind the colon.
      at = skipSpace(bytes, skipSpace(bytes, end) + 1)
    }
    const next = tree.get(step)
    let end: number
    if (next instanceof Map) end = walk(bytes, at, next, edits)
    else {
      end = endOfValue(bytes, at)
      if (next !== undefined && bytes[at] === QUOTE) edits.push({ start: at, end, text: next })
    }
    at = skipSpace(bytes, end)
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1)
  }
  return at + 1
}
