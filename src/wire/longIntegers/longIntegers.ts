/**
 * Integers that no number holds, such as ids of 64 bits: JSON.parse rounds them, and a tool would be called with another id. What a
 * parsed value holds in their place is written by JSON.stringify as it was sent
 * (https://tc39.es/proposal-json-parse-with-source).
 */
import type { ContentPart } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"

interface SourceJson {
  readonly parse: (text: string, reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown) => unknown
  readonly rawJSON: (source: string) => object
}

// TypeScript's library does not know these members yet.
const sourceJson = JSON as unknown as SourceJson

/** A longer text is read as JSON.parse does: to read each number's source costs several times as much. */
const MOST_CHARS = 1024 * 1024

const LONG = /\d{16}/

/** A call of a format that holds arguments as an object: its integers were numbers. True for some others, too. */
export const mayHaveRounded = (parts: ReadonlyArray<ContentPart>): boolean =>
  parts.some((part) => part.kind === "toolCall" && !part.custom && LONG.test(part.arguments))

/** The same of a result that a format holds as an object. */
export const mayHaveRoundedResult = (parts: ReadonlyArray<ContentPart>): boolean =>
  parts.some((part) => part.kind === "toolResult" && part.content.some((inner) => inner.kind === "text" && LONG.test(inner.text)))

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
  (text.includes(mark) && LONG.test(text) ? parseRecord(text) : null) ?? Json.parseRecord(text)
