/**
 * What a conversation is about, as its user said it first: the same text in each of its turns, so that what is chosen by it stays the
 * same, and with it the beginning that vendors cache. Pure; reads bodies of every format of conversations.
 */
import * as Json from "#src/wire/json/json.ts"

type Body = Readonly<Record<string, unknown>>

/** Characters that are compared with entries. */
const MOST = 2_000

/** Lists of messages, by format: chat and messages, responses, generateContent. */
const lists = ["messages", "input", "contents"] as const

const partsOf = (said: unknown): ReadonlyArray<string> => {
  if (typeof said === "string") return [said]
  if (Array.isArray(said)) return said.flatMap(partsOf)
  return Json.isRecord(said) && typeof said["text"] === "string" ? [said["text"]] : []
}

/** Of a message, what its user wrote; null for messages of others. */
const wordsOf = (message: unknown): string | null => {
  if (typeof message === "string") return message
  if (!Json.isRecord(message) || (message["role"] ?? "user") !== "user") return null
  const text = partsOf(message["content"] ?? message["parts"]).join("\n").trim()
  return text === "" ? null : text
}

/** Empty where nothing is said. */
export const questionOf = (body: Body): string => {
  for (const name of lists) {
    const list = body[name]
    const messages: ReadonlyArray<unknown> = Array.isArray(list) ? list : list === undefined ? [] : [list]
    for (const message of messages) {
      const words = wordsOf(message)
      if (words !== null) return words.slice(0, MOST)
    }
  }
  return typeof body["prompt"] === "string" ? body["prompt"].slice(0, MOST) : ""
}
