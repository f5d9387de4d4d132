/**
 * A small part of JSONPath: one place in a document, no wildcards, filters or slices. `$` is the document, `.name` and `['name']` (or
 * `["name"]`) a member, `[0]` an element counted from the start. In a quoted name `\` keeps the next character as it is. Pure.
 */

/** Member names and element indices from the root. */
export type Path = ReadonlyArray<string | number>

/** A name without quotes: no character that means something in a path. */
const step = /\.([^.[\]'"\\\s*?@()]+)|\[(0|[1-9]\d{0,8})\]|\['((?:[^'\\]|\\[^])*)'\]|\["((?:[^"\\]|\\[^])*)"\]/y

const unquoted = (name: string): string => name.replace(/\\([^])/g, "$1")

/** Null when the text is no path of this form. */
export const parse = (text: string): Path | null => {
  if (!text.startsWith("$")) return null
  const path: Array<string | number> = []
  step.lastIndex = 1
  while (step.lastIndex < text.length) {
    const found = step.exec(text)
    if (found === null) return null
    const [, name, index, single, double] = found
    path.push(name ?? (index !== undefined ? Number(index) : unquoted(single ?? double ?? "")))
  }
  return path
}

/** The value at the place; undefined when there is none, which no JSON value is. */
export const read = (document: unknown, path: Path): unknown => {
  let value = document
  for (const at of path) {
    if (typeof value !== "object" || value === null) return undefined
    if (typeof at === "number" ? !Array.isArray(value) : Array.isArray(value)) return undefined
    if (!Object.hasOwn(value, at)) return undefined
    value = (value as Readonly<Record<string | number, unknown>>)[at]
  }
  return value
}

/** The same JSON value; the order of members means nothing. */
export const isEqual = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null || Array.isArray(a) !== Array.isArray(b)) return false
  const one = a as Readonly<Record<string, unknown>>
  const other = b as Readonly<Record<string, unknown>>
  const names = Object.keys(one)
  return names.length === Object.keys(other).length && names.every((name) => Object.hasOwn(other, name) && isEqual(one[name], other[name]))
}
