/**
 * Reads the messages of a chat-completions request as strictly as the vendor does: roles, parts by role, and tool messages that
 * answer the calls before them. What only compatible servers know (reasoning, cache_control, video) is refused by the vendor's models.
 */
import * as Predicate from "effect/Predicate"
import { countTokens } from "#src/simulator/text.ts"
import { Bad, invalidType, invalidValue, missing, refuseUnknown } from "#src/simulator/formats/chatRequest.ts"
import type { Body } from "#src/simulator/formats/Format.ts"

const ROLES = ["system", "developer", "user", "assistant", "tool", "function"] as const
type Role = (typeof ROLES)[number]

const PART_TYPES: { readonly [role in Role]: ReadonlyArray<string> } = {
  system: ["text"],
  developer: ["text"],
  user: ["text", "image_url", "input_audio", "file"],
  assistant: ["text", "refusal"],
  tool: ["text"],
  function: ["text"]
}
const MEMBERS: { readonly [role in Role]: ReadonlySet<string> } = {
  system: new Set(["role", "content", "name"]),
  developer: new Set(["role", "content", "name"]),
  user: new Set(["role", "content", "name"]),
  assistant: new Set(["role", "content", "name", "refusal", "tool_calls", "function_call", "audio", "annotations"]),
  tool: new Set(["role", "content", "tool_call_id", "name"]),
  function: new Set(["role", "content", "name"])
}
const DETAILS = ["auto", "low", "high"]
const AUDIO_FORMATS = ["wav", "mp3"]
/** Parts that compatible servers take as well. */
const EXTENSIONS: { readonly [role in Role]: ReadonlyArray<string> } = {
  system: [], developer: [], user: ["video_url"], assistant: ["thinking"], tool: ["image_url"], function: []
}
/** Vendor bounds. */
const LONGEST_CALL_ID = 40
const LONGEST_NAME = 64
/** Overhead the vendor counts per message and once per answer, and its price of a part that is no text. */
const TOKENS_PER_MESSAGE = 4
const TOKENS_PER_PROMPT = 3
const TOKENS_PER_MEDIUM = 85

export interface Conversation {
  readonly lastUserText: string
  readonly toolResult: string | null
  readonly tokens: number
}

const link = (url: unknown, param: string): void => {
  if (!Predicate.isString(url)) throw url === undefined ? missing(param) : invalidType(param, "a string", url)
  if (/^data:[\w.+-]+\/[\w.+-]+(?:;[\w=.-]+)*;base64,[A-Za-z0-9+/_-]+=*$/.test(url) || /^https?:\/\/\S+$/.test(url)) return
  throw new Bad(
    `Invalid '${param}'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), or a link.`,
    param,
    "invalid_value"
  )
}

const record = (part: Body, name: string, at: string): Body => {
  const value = part[name]
  if (value === undefined) throw missing(`${at}.${name}`)
  if (!Predicate.isObject(value)) throw invalidType(`${at}.${name}`, "an object", value)
  return value as Body
}

/** Everything about a part that is no text. */
const checkMedium = (type: string, part: Body, at: string, vendor: boolean): void => {
  switch (type) {
    case "image_url": {
      const image = record(part, "image_url", at)
      link(image["url"], `${at}.image_url.url`)
      const detail = image["detail"]
      if (detail !== undefined && !(Predicate.isString(detail) && DETAILS.includes(detail))) throw invalidValue(`${at}.image_url.detail`, detail, DETAILS)
      return
    }
    case "video_url":
      link(record(part, "video_url", at)["url"], `${at}.video_url.url`)
      return
    case "input_audio": {
      const audio = record(part, "input_audio", at)
      if (!Predicate.isString(audio["data"])) throw missing(`${at}.input_audio.data`)
      if (vendor && !AUDIO_FORMATS.includes(String(audio["format"]))) throw invalidValue(`${at}.input_audio.format`, audio["format"], AUDIO_FORMATS)
      return
    }
    case "file": {
      const file = record(part, "file", at)
      if (Predicate.isString(file["file_id"])) return
      if (!Predicate.isString(file["file_data"])) throw missing(`${at}.file.file_id`)
      if (vendor && !Predicate.isString(file["filename"])) throw missing(`${at}.file.filename`)
      link(file["file_data"], `${at}.file.file_data`)
      if (vendor && !file["file_data"].startsWith("data:")) throw new Bad(`Invalid '${at}.file.file_data'. Expected a base64-encoded data URL.`, `${at}.file.file_data`, "invalid_value")
      return
    }
    case "refusal":
      if (!Predicate.isString(part["refusal"])) throw missing(`${at}.refusal`)
      return
  }
}

/** Text of a message's content; the other parts count at a fixed price. */
const contentOf = (content: unknown, role: Role, param: string, vendor: boolean): { readonly text: string; readonly tokens: number } => {
  if (Predicate.isString(content)) return { text: content, tokens: countTokens(content) }
  if (!Array.isArray(content)) throw invalidType(param, "one of a string or array of objects", content)
  if (content.length === 0) {
    throw new Bad(`Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`, param, "empty_array")
  }
  let text = ""
  let tokens = 0
  content.forEach((part: unknown, i) => {
    const at = `${param}[${i}]`
    if (!Predicate.isObject(part)) throw invalidType(at, "an object", part)
    const type = part["type"]
    if (!Predicate.isString(type) || !(PART_TYPES[role].includes(type) || (!vendor && EXTENSIONS[role].includes(type)))) throw invalidValue(`${at}.type`, type, PART_TYPES[role])
    if (type === "text") {
      if (!Predicate.isString(part["text"])) throw part["text"] === undefined ? missing(`${at}.text`) : invalidType(`${at}.text`, "a string", part["text"])
      text += part["text"]
      tokens += countTokens(part["text"])
    } else {
      checkMedium(type, part as Body, at, vendor)
      tokens += TOKENS_PER_MEDIUM
    }
  })
  return { text, tokens }
}

const readName = (message: Body, param: string): void => {
  const name = message["name"]
  if (name === undefined || name === null) return
  if (!Predicate.isString(name)) throw invalidType(`${param}.name`, "a string", name)
  if (name.length > LONGEST_NAME || !/^[^\s<|\\/>]+$/.test(name)) {
    throw new Bad(
      `Invalid '${param}.name': string does not match pattern. Expected a string that matches the pattern '^[^\\s<|\\\\/>]+$'.`, `${param}.name`, "invalid_value"
    )
  }
}

interface CallRead {
  readonly id: string
  readonly tokens: number
}

const readCall = (call: unknown, at: string): CallRead => {
  if (!Predicate.isObject(call)) throw invalidType(at, "an object", call)
  const id = call["id"]
  if (!Predicate.isString(id)) throw missing(`${at}.id`)
  if (id.length > LONGEST_CALL_ID) {
    throw new Bad(
      `Invalid '${at}.id': string too long. Expected a string with maximum length ${LONGEST_CALL_ID}, but got a string with length ${id.length} instead.`,
      `${at}.id`,
      "string_above_max_length"
    )
  }
  const type = call["type"]
  if (type !== undefined && type !== "function" && type !== "custom") throw invalidValue(`${at}.type`, type, ["function", "custom"])
  const [member, input] = type === "custom" ? ["custom", "input"] as const : ["function", "arguments"] as const
  const body = call[member]
  if (!Predicate.isObject(body) || !Predicate.isString(body["name"]) || !Predicate.isString(body[input])) throw missing(`${at}.${member}`)
  return { id, tokens: countTokens(body["name"]) + countTokens(body[input]) }
}

const readCalls = (calls: unknown, param: string): ReadonlyArray<CallRead> | null => {
  if (calls === undefined || calls === null) return null
  if (!Array.isArray(calls)) throw invalidType(`${param}.tool_calls`, "an array of objects", calls)
  if (calls.length === 0) {
    throw new Bad(
      `Invalid '${param}.tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
      `${param}.tool_calls`,
      "empty_array"
    )
  }
  return calls.map((call: unknown, j) => readCall(call, `${param}.tool_calls[${j}]`))
}

const unanswered = (open: ReadonlySet<string>, i: number): Bad =>
  new Bad(
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
      `The following tool_call_ids did not have response messages: ${Array.from(open).join(", ")}`,
    `messages.[${i}].role`
  )

/** `vendor`: the model is one of the vendor's own. */
export const readMessages = (messages: unknown, vendor: boolean): Conversation => {
  if (messages === undefined || messages === null) throw missing("messages")
  if (!Array.isArray(messages)) throw invalidType("messages", "an array of objects", messages)
  if (messages.length === 0) {
    throw new Bad("Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.", "messages", "empty_array")
  }
  let lastUserText = ""
  let toolResult: string | null = null
  let tokens = TOKENS_PER_PROMPT
  /** Call ids that still want their tool message; null when no call precedes. */
  let open: Set<string> | null = null
  for (let i = 0; i < messages.length; i++) {
    const message: unknown = messages[i]
    const param = `messages[${i}]`
    if (!Predicate.isObject(message)) throw invalidType(param, "an object", message)
    const role = ROLES.find((one) => one === message["role"])
    if (message["role"] === undefined) throw missing(`${param}.role`)
    if (role === undefined) throw invalidValue(`${param}.role`, message["role"], ROLES)
    if (vendor) refuseUnknown(message as Body, MEMBERS[role], param)
    readName(message as Body, param)
    tokens += TOKENS_PER_MESSAGE
    if (role === "tool") {
      const id = message["tool_call_id"]
      if (open === null) {
        throw new Bad("Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", `messages.[${i}].role`)
      }
      if (!Predicate.isString(id)) throw missing(`${param}.tool_call_id`)
      if (!open.delete(id)) {
        throw new Bad(`Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`, `messages.[${i}].tool_call_id`)
      }
      const content = contentOf(message["content"], role, `${param}.content`, vendor)
      toolResult = toolResult === null ? content.text : `${toolResult}\n${content.text}`
      tokens += content.tokens
      continue
    }
    if (open !== null && open.size > 0) throw unanswered(open, i)
    open = null
    if (role === "function") {
      if (!Predicate.isString(message["name"])) throw missing(`${param}.name`)
      toolResult = Predicate.isString(message["content"]) ? message["content"] : ""
      tokens += countTokens(toolResult)
      continue
    }
    toolResult = null
    const calls = role === "assistant" ? readCalls(message["tool_calls"], param) : null
    if (calls !== null) {
      open = new Set(calls.map((call) => call.id))
      for (const call of calls) tokens += call.tokens
    }
    const content = message["content"]
    if (role === "assistant" && (content === undefined || content === null)) {
      if (calls === null && !Predicate.isObject(message["function_call"]) && !Predicate.isString(message["refusal"]) && !Predicate.isObject(message["audio"])) {
        throw invalidType(`${param}.content`, "one of a string or array of objects", content ?? null)
      }
      continue
    }
    if (content === undefined) throw missing(`${param}.content`)
    const read = contentOf(content, role, `${param}.content`, vendor)
    tokens += read.tokens
    if (role === "user") lastUserText = read.text
  }
  if (open !== null && open.size > 0) throw unanswered(open, messages.length)
  return { lastUserText, toolResult, tokens }
}
