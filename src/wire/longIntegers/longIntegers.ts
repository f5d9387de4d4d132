/**
 * Integers that no number holds, such as ids of 64 bits: JSON.parse rounds them, and a tool would be called with another id. What a
 * parsed value holds in their place is written by JSON.stringify as it was sent
 * (https://tc39.es/proposal-json-parse-with-source).
 */
import type { ContentPart, FormatName } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"

interface SourceJson {
  readonly parse: (text: string, reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown) => unknown
  readonly rawJSON: (source: string) => object
}

// TypeScript's library does not know these members yet.
const sourceJson = JSON as unknown as SourceJson

/** A longer text is read as JSON.parse does: to read each number's source costs five times as much. */
const MOST_CHARS = 1024 * 1024

/** Digits of the shortest integer that no number holds. */
const DIGITS = 16

const isDigit = (code: number): boolean => code >= 48 && code <= 57

/** Looks at each sixteenth character: a run of that many digits cannot stand between two. A pattern would read them all. */
const hasLongRun = (text: string): boolean => {
  for (let at = DIGITS - 1; at < text.length; at += DIGITS) {
    if (!isDigit(text.charCodeAt(at))) continue
    let from = at
    let to = at + 1
    while (isDigit(text.charCodeAt(from - 1))) from--
    while (isDigit(text.charCodeAt(to))) to++
    if (to - from >= DIGITS) return true
  }
  return false
}

/** Digits within texts round nothing. */
const holdsRounded = (value: object): boolean => {
  const open: Array<unknown> = [value]
  while (open.length > 0) {
    const one = open.pop()
    if (typeof one === "number") {
      if (Number.isInteger(one) && !Number.isSafeInteger(one)) return true
    } else if (typeof one === "object" && one !== null) for (const inner of Object.values(one)) open.push(inner)
  }
  return false
}

const holdsObjects: ReadonlySet<FormatName> = new Set<FormatName>(["messages", "generateContent", "local-model-server"])

/** Whether calls of a format held integers that were rounded. Where only their text is left, also true for digits within texts. */
export const isRounded = (format: FormatName, parts: ReadonlyArray<ContentPart>): boolean => holdsObjects.has(format) && parts.some((part) =>
  part.kind === "toolCall" && !part.custom && hasLongRun(part.arguments) && (part.object === undefined || holdsRounded(part.object)))

/** How an object, a list and an integer begin as text; what a tool said in words is as it was sent. */
const VALUE = /^(?:[{[]|-?\d+$)/

/** The same of results: one format holds objects. */
export const isResultRounded = (format: FormatName, parts: ReadonlyArray<ContentPart>): boolean => format === "generateContent" &&
  parts.some((part) => part.kind === "toolResult" && part.content.some((inner) => inner.kind === "text" && VALUE.test(inner.text) && hasLongRun(inner.text)))

/** Parses an object and keeps such integers; null for anything else, malformed and too long included. */
export const parseRecord = (text: string): Record<string, unknown> | null => {
  if (text.length > MOST_CHARS) return null
  try {
    const value = sourceJson.parse(text, (_key, value, { source }) =>
      typeof value === "number" && source !== undefined && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? sourceJson.rawJSON(source) : value)
    return Json.isRecord(value) ? value : null
  } catch {
    return null
  }
}

/** The same of one event of a stream; `mark` stands in those that hold calls, and others are parsed as usual. */
export const parseEvent = (text: string, mark: string): Record<string, unknown> | null =>
  (text.includes(mark) && hasLongRun(text) ? parseRecord(text) : null) ?? Json.parseRecord(text)
