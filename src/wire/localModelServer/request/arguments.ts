/** Arguments and ids of tool calls: this format has arguments as an object, and older servers have no ids. */
import * as Json from "#src/wire/json/json.ts"

/**
 * JSON text of the arguments object that stands for what a model wrote: the text itself (numbers keep their spelling), `{}` for
 * none. What is no object cannot be said here and travels as the text member `arguments` of one.
 */
export const objectText = (text: string): string => {
  const trimmed = text.trim()
  if (trimmed === "" || trimmed === "{}") return "{}"
  const parsed = trimmed.startsWith("{") ? Json.parseRecord(trimmed) : null
  if (parsed === null) return JSON.stringify({ arguments: text })
  // A line end inside would cut the line in two.
  return /[\r\n]/.test(trimmed) ? JSON.stringify(parsed) : trimmed
}

/**
 * The id of a call that has none. It follows from what the server said, so that the same bytes give the same id however they
 * arrive; `when` (created_at, nanoseconds) tells the turns of a conversation apart.
 */
export const callId = (when: string, index: number, name: string, args: string): string =>
  `call_${hash(`${when}\n${index}\n${name}\n${args}`)}`

/** 2 x 32 bits of FNV-1a with different offsets, as 14 characters of base 36. */
const hash = (text: string): string => half(text, 0x811c9dc5) + half(text, 0x01000193)

const half = (text: string, offset: number): string => {
  let state = offset
  for (let i = 0; i < text.length; i++) state = Math.imul(state ^ text.charCodeAt(i), 0x01000193)
  return (state >>> 0).toString(36).padStart(7, "0")
}
