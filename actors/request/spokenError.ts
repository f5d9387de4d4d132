/** What a refusal says whose body is no error object of its family: its plain text, or the words that its JSON has. Pure. */
import * as Predicate from "effect/Predicate"
import type { UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import { headerOf } from "#actors/request/ports/Upstream.ts"

/** Members of JSON that hold words for a reader, the likeliest first. */
const spokenMembers = ["error", "errors", "message", "detail", "error_message", "error_description", "msg", "reason", "description", "title"]

const maxDepth = 4
/** What is masked and searched, in characters; what a client is told is shorter. */
const maxLength = 16_384
/** Of a list, so many errors are told. */
const maxListed = 10

/** A page for browsers: its words are not for a client. */
const isMarkup = (text: string, headers: ReadonlyArray<string>): boolean => text.startsWith("<") || /html|xml/.test(headerOf(headers, "content-type") ?? "")

/** Bytes that are no text, such as a picture. */
const isBinary = (text: string): boolean => /[^\P{Cc}\s]/u.test(text)

/** `headers`: of the reply, flat. Null for markup, for bytes that are no text and for a body without words. */
export const read = (body: Uint8Array, headers: ReadonlyArray<string>): UpstreamErrorBody | null => {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8").trim()
  if (text === "" || isMarkup(text, headers) || isBinary(text)) return null
  const message = messageOf(text)
  return message === null ? null : { message: message.slice(0, maxLength), type: null, code: null, status: null }
}

const messageOf = (text: string): string | null => {
  const value = parsed(text)
  if (value === undefined) return text
  // JSON of an unknown shape is told as it came, unless it is empty.
  return wordsOf(value, 0) ?? (/[\p{L}]/u.test(text) && typeof value === "object" && value !== null ? text : null)
}

/** Undefined for a text that is no JSON. */
const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const wordsOf = (value: unknown, depth: number): string | null => {
  if (typeof value === "string") return value.trim() === "" ? null : value.trim()
  if (depth === maxDepth) return null
  if (Array.isArray(value)) {
    const words = value.slice(0, maxListed).map((item) => wordsOf(item, depth + 1)).filter((word) => word !== null)
    return words.length === 0 ? null : words.join("; ")
  }
  if (!Predicate.isObject(value)) return null
  const record: Readonly<Record<string, unknown>> = { ...value }
  for (const name of spokenMembers) {
    const words = wordsOf(record[name], depth + 1)
    if (words !== null) return words
  }
  return null
}
