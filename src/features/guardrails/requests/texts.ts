/** Which texts of a request come from its user and from tools, by format. All others pass unread: instructions, the model's own turns, tool calls, media. Pure. */
import type { FormatName } from "#schemas/wire/conversation.ts"
import { each, type Edits, Value } from "#src/wire/json/edits.ts"
import * as Json from "#src/wire/json/json.ts"

type Read = (text: string) => string
type Body = Readonly<Record<string, unknown>>

/** What changes in the body when each text becomes what `read` answers; null when nothing does. */
export const read = (format: FormatName, body: Body, read: Read): Edits | null => each(body, (value, name) => member(format, name, value, read))

const member = (format: FormatName, name: string | number, value: unknown, read: Read): Edits | null => {
  switch (format) {
    case "chat-completions":
    case "messages":
      return name === "messages" ? messages(value, read) : null
    case "local-model-server":
      return name === "messages" ? messages(value, read) : name === "prompt" ? content(value, read) : null
    case "completions":
      return name === "prompt" || name === "suffix" ? content(value, read) : null
    case "responses":
      return name === "input" ? input(value, read) : name === "prompt" ? within(value, "variables", (variables) => each(variables, (one) => content(one, read))) : null
    case "generateContent":
      // A count may be asked for a whole request.
      if (name === "generateContentRequest") return within(value, "contents", (own) => contents(own, read))
      return name === "contents" ? contents(value, read) : null
  }
}

const within = (value: unknown, name: string, visit: (member: unknown) => Edits | null): Edits | null =>
  Json.isRecord(value) ? each(value, (child, key) => key === name ? visit(child) : null) : null

/** Roles that speak for a user or a tool. */
const spoken: ReadonlySet<unknown> = new Set(["user", "tool", "function"])

const messages = (list: unknown, read: Read): Edits | null =>
  each(list, (message) => Json.isRecord(message) && spoken.has(message["role"]) ? within(message, "content", (own) => content(own, read)) : null)

const input = (value: unknown, read: Read): Edits | null => {
  if (typeof value === "string") return text(value, read)
  return each(value, (item) => {
    if (!Json.isRecord(item)) return null
    if (item["output"] !== undefined) return within(item, "output", (own) => content(own, read))
    return item["role"] === "user" || item["role"] === undefined ? within(item, "content", (own) => content(own, read)) : null
  })
}

const contents = (value: unknown, read: Read): Edits | null => {
  if (typeof value === "string") return text(value, read)
  const one = (turn: unknown): Edits | null => typeof turn === "string" ? text(turn, read)
    : Json.isRecord(turn) && turn["role"] !== "model" ? within(turn, "parts", (parts) => Array.isArray(parts) ? each(parts, (part) => contentPart(part, read)) : contentPart(parts, read))
    : null
  return Array.isArray(value) ? each(value, one) : one(value)
}

/** What a function answers is an object of any shape. */
const contentPart = (part: unknown, read: Read): Edits | null => typeof part === "string" ? text(part, read) : each(part, (value, name) =>
  name === "text" ? text(value, read) : name === "functionResponse" || name === "function_response" ? within(value, "response", (response) => deep(response, read)) : null)

/** A text, a list of parts, or one part. */
const content = (value: unknown, read: Read): Edits | null => {
  if (typeof value === "string") return text(value, read)
  if (Array.isArray(value)) return each(value, (part) => content(part, read))
  return Json.isRecord(value) ? each(value, (child, name) => partMember(name, child, value, read)) : null
}

const partMember = (name: string | number, value: unknown, part: Body, read: Read): Edits | null => {
  switch (name) {
    case "text":
    case "stdout":
    case "stderr":
      return text(value, read)
    // Results of tools, and documents in parts.
    case "content":
    case "output":
      return content(value, read)
    case "source":
      return sourceOf(value, read)
    // What is said of a document.
    case "title":
    case "context":
      return part["type"] === "document" ? text(value, read) : null
    default:
      return null
  }
}

/** Documents that are text; all others are media. */
const sourceOf = (source: unknown, read: Read): Edits | null => {
  if (!Json.isRecord(source)) return null
  return source["type"] === "text" ? within(source, "data", (data) => text(data, read)) : within(source, "content", (own) => content(own, read))
}

const deep = (value: unknown, read: Read): Edits | null => typeof value === "string" ? text(value, read) : each(value, (child) => deep(child, read))

const text = (value: unknown, read: Read): Edits | null => {
  if (typeof value !== "string" || value === "") return null
  const left = read(value)
  return left === value ? null : new Value(left)
}
