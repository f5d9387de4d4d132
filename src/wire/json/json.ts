/** Small total readers over parsed JSON of unknown shape. */
import * as Predicate from "effect/Predicate"

export const isRecord = (value: unknown): value is Record<string, unknown> => Predicate.isObject(value)

/** Parses a JSON object; null for anything else, malformed included. */
export const parseRecord = (text: string): Record<string, unknown> | null => {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : null
  } catch {
    return null
  }
}

/** The same for a list of one object, as some vendors wrap the error of a refused stream. */
export const parseFirst = (text: string): Record<string, unknown> | null => {
  try {
    const value: unknown = JSON.parse(text)
    const first: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value
    return isRecord(first) ? first : null
  } catch {
    return null
  }
}

/** What a table says of a word that came from outside. Words that every object inherits, such as `constructor`, are in none. */
export const ownValue = <Said>(table: Readonly<Record<string, Said>>, word: string): Said | undefined => Object.hasOwn(table, word) ? table[word] : undefined

export const recordAt = (record: Record<string, unknown>, key: string): Record<string, unknown> | null => {
  const value = record[key]
  return isRecord(value) ? value : null
}

/** True when one of the fields is a number of tokens: a usage object without any says nothing, not even 0. */
export const hasCount = (record: Record<string, unknown>, ...keys: ReadonlyArray<string>): boolean => {
  for (const key of keys) {
    const value = record[key]
    if (typeof value === "number" && Number.isFinite(value) && value >= 0) return true
  }
  return false
}

/** A non-negative integer count, 0 when the field is absent or no number. */
export const countAt = (record: Record<string, unknown>, key: string): number => {
  const value = record[key]
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.floor(value) : 0
}

/** The text is a whole JSON value, not the beginning of one. */
export const isWhole = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
