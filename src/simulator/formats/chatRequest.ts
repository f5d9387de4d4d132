/**
 * Reads a chat-completions request as strictly as the vendor does: the first thing wrong is answered with its message and param.
 */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import { countTokens } from "../text.ts"
import type { Body, Call, Refusal, RequestHead, Tool } from "./Format.ts"

const ROLES = ["system", "developer", "user", "assistant", "tool", "function"] as const
const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"]
const PART_TYPES = ["text", "image_url", "input_audio", "file", "refusal"]
/** Vendor bounds. */
const MAX_N = 128
const MAX_STOPS = 4
const MAX_TOOLS = 128
/** Overhead the vendor counts per message and once per answer. */
const TOKENS_PER_MESSAGE = 4
const TOKENS_PER_PROMPT = 3

export class Bad {
  readonly refusal: Refusal
  constructor(message: string, param: string | null, code: string | null = null, status = 400) {
    this.refusal = { status, message, type: "invalid_request_error", param, code }
  }
}

const typeName = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "an array" : typeof value === "object" ? "an object" : `a ${typeof value}`

export const invalidType = (param: string, expected: string, value: unknown): Bad =>
  new Bad(`Invalid type for '${param}': expected ${expected}, but got ${typeName(value)} instead.`, param, "invalid_type")

const invalidValue = (param: string, value: unknown, supported: ReadonlyArray<string>): Bad =>
  new Bad(
    `Invalid value: '${String(value)}'. Supported values are: ${supported.map((one) => `'${one}'`).join(", ")}.`,
    param,
    "invalid_value"
  )

export const optionalNumber = (body: Body, name: string, minimum: number, maximum: number, integer = false): number | null => {
  const value = body[name]
  if (value === undefined || value === null) return null
  if (!Predicate.isNumber(value) || (integer && !Number.isInteger(value))) throw invalidType(name, integer ? "an integer" : "a decimal", value)
  if (value < minimum) {
    throw new Bad(`Invalid '${name}': integer below minimum value. Expected a value >= ${minimum}, but got ${value} instead.`, name, "integer_below_min_value")
  }
  if (value > maximum) {
    throw new Bad(`Invalid '${name}': integer above maximum value. Expected a value <= ${maximum}, but got ${value} instead.`, name, "integer_above_max_value")
  }
  return value
}

export const optionalBoolean = (body: Body, name: string): boolean => {
  const value = body[name]
  if (value === undefined || value === null) return false
  if (!Predicate.isBoolean(value)) throw invalidType(name, "a boolean", value)
  return value
}

export const requiredModel = (body: Body): string => {
  const model = body["model"]
  if (model === undefined || model === null || model === "") throw new Bad("you must provide a model parameter", null)
  if (!Predicate.isString(model)) throw invalidType("model", "a string", model)
  return model
}

/** Text of a message's content; the other parts count by their JSON length. */
const contentOf = (content: unknown, param: string): { readonly text: string; readonly tokens: number } => {
  if (Predicate.isString(content)) return { text: content, tokens: countTokens(content) }
  if (!Array.isArray(content)) throw invalidType(param, "one of a string or array of objects", content)
  let text = ""
  let tokens = 0
  content.forEach((part: unknown, i) => {
    if (!Predicate.isObject(part)) throw invalidType(`${param}[${i}]`, "an object", part)
    const type = part["type"]
    if (!Predicate.isString(type) || !PART_TYPES.includes(type)) throw invalidValue(`${param}[${i}].type`, type, PART_TYPES)
    if (type === "text") {
      if (!Predicate.isString(part["text"])) throw invalidType(`${param}[${i}].text`, "a string", part["text"])
      text += part["text"]
      tokens += countTokens(part["text"])
    } else {
      tokens += 85
    }
  })
  return { text, tokens }
}

interface Conversation {
  readonly lastUserText: string
  readonly toolResult: string | null
  readonly tokens: number
}

const readMessages = (messages: unknown): Conversation => {
  if (messages === undefined || messages === null) {
    throw new Bad("Missing required parameter: 'messages'.", "messages", "missing_required_parameter")
  }
  if (!Array.isArray(messages)) throw invalidType("messages", "an array of objects", messages)
  if (messages.length === 0) {
    throw new Bad("Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.", "messages", "empty_array")
  }
  let lastUserText = ""
  let toolResult: string | null = null
  let tokens = TOKENS_PER_PROMPT
  /** Call ids that still want their tool message. */
  let open: Set<string> | null = null
  const unanswered = (i: number): Bad =>
    new Bad(
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
        `The following tool_call_ids did not have response messages: ${Array.from(open ?? []).join(", ")}`,
      `messages.[${i}].role`
    )
  messages.forEach((message: unknown, i) => {
    const param = `messages[${i}]`
    if (!Predicate.isObject(message)) throw invalidType(param, "an object", message)
    const role = message["role"]
    if (role === undefined) throw new Bad(`Missing required parameter: '${param}.role'.`, `${param}.role`, "missing_required_parameter")
    if (!Predicate.isString(role) || !ROLES.some((one) => one === role)) throw invalidValue(`${param}.role`, role, ROLES)
    tokens += TOKENS_PER_MESSAGE
    if (role === "tool") {
      if (open === null) {
        throw new Bad("Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", `messages.[${i}].role`)
      }
      const id = message["tool_call_id"]
      if (!Predicate.isString(id)) {
        throw new Bad(`Missing required parameter: '${param}.tool_call_id'.`, `${param}.tool_call_id`, "missing_required_parameter")
      }
      if (!open.has(id)) {
        throw new Bad(`Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`, `messages.[${i}].tool_call_id`)
      }
      open.delete(id)
      const content = contentOf(message["content"], `${param}.content`)
      toolResult = toolResult === null ? content.text : `${toolResult}\n${content.text}`
      tokens += content.tokens
      return
    }
    if (open !== null && open.size > 0) throw unanswered(i)
    open = null
    toolResult = null
    const calls = role === "assistant" ? message["tool_calls"] : undefined
    if (calls !== undefined && calls !== null) {
      if (!Array.isArray(calls)) throw invalidType(`${param}.tool_calls`, "an array of objects", calls)
      if (calls.length === 0) {
        throw new Bad(
          `Invalid '${param}.tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
          `${param}.tool_calls`,
          "empty_array"
        )
      }
      open = new Set(calls.map((call: unknown, j) => {
        const at = `${param}.tool_calls[${j}]`
        if (!Predicate.isObject(call)) throw invalidType(at, "an object", call)
        if (!Predicate.isString(call["id"])) throw new Bad(`Missing required parameter: '${at}.id'.`, `${at}.id`, "missing_required_parameter")
        const fn = call["function"]
        if (!Predicate.isObject(fn) || !Predicate.isString(fn["name"]) || !Predicate.isString(fn["arguments"])) {
          throw new Bad(`Missing required parameter: '${at}.function'.`, `${at}.function`, "missing_required_parameter")
        }
        tokens += countTokens(fn["name"]) + countTokens(fn["arguments"])
        return call["id"]
      }))
    }
    const content = message["content"]
    if (role === "assistant" && (content === undefined || content === null)) {
      if (open === null && !Predicate.isObject(message["function_call"])) {
        throw invalidType(`${param}.content`, "one of a string or array of objects", content ?? null)
      }
      return
    }
    if (content === undefined) throw new Bad(`Missing required parameter: '${param}.content'.`, `${param}.content`, "missing_required_parameter")
    const read = contentOf(content, `${param}.content`)
    tokens += read.tokens
    if (role === "user") lastUserText = read.text
  })
  if (open !== null && (open as Set<string>).size > 0) throw unanswered(messages.length)
  return { lastUserText, toolResult, tokens }
}

const readTools = (tools: unknown): ReadonlyArray<Tool> => {
  if (tools === undefined || tools === null) return []
  if (!Array.isArray(tools)) throw invalidType("tools", "an array of objects", tools)
  if (tools.length === 0 || tools.length > MAX_TOOLS) {
    throw new Bad(`Invalid 'tools': expected an array with 1 to ${MAX_TOOLS} entries, but got ${tools.length} instead.`, "tools")
  }
  return tools.map((tool: unknown, i) => {
    if (!Predicate.isObject(tool)) throw invalidType(`tools[${i}]`, "an object", tool)
    if (tool["type"] !== "function") throw invalidValue(`tools[${i}].type`, tool["type"], ["function"])
    const fn = tool["function"]
    if (!Predicate.isObject(fn)) throw new Bad(`Missing required parameter: 'tools[${i}].function'.`, `tools[${i}].function`, "missing_required_parameter")
    const name = fn["name"]
    if (!Predicate.isString(name) || !/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
      throw new Bad(
        `Invalid 'tools[${i}].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
        `tools[${i}].function.name`,
        "invalid_value"
      )
    }
    return { name, parameters: fn["parameters"] }
  })
}

const readToolChoice = (choice: unknown, tools: ReadonlyArray<Tool>): Call["toolChoice"] => {
  if (choice === undefined || choice === null) return "auto"
  if (tools.length === 0 && choice !== "none") {
    throw new Bad("Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.", "tool_choice")
  }
  if (choice === "auto" || choice === "none" || choice === "required") return choice
  if (Predicate.isObject(choice) && Predicate.isObject(choice["function"]) && Predicate.isString(choice["function"]["name"])) {
    const name = choice["function"]["name"]
    if (!tools.some((tool) => tool.name === name)) {
      throw new Bad(`Invalid value for 'tool_choice': no function named '${name}' was specified in the 'tools' parameter.`, "tool_choice")
    }
    return { name }
  }
  throw invalidValue("tool_choice", JSON.stringify(choice), ["none", "auto", "required"])
}

const readJson = (format: unknown): Call["json"] => {
  if (format === undefined || format === null) return null
  if (!Predicate.isObject(format)) throw invalidType("response_format", "an object", format)
  if (format["type"] === "text") return null
  if (format["type"] === "json_object") return { schema: undefined }
  if (format["type"] === "json_schema") {
    const inner = format["json_schema"]
    if (!Predicate.isObject(inner) || !Predicate.isString(inner["name"])) {
      throw new Bad("Missing required parameter: 'response_format.json_schema.name'.", "response_format.json_schema.name", "missing_required_parameter")
    }
    return { schema: inner["schema"] }
  }
  throw invalidValue("response_format.type", format["type"], ["text", "json_object", "json_schema"])
}

const readStop = (stop: unknown): ReadonlyArray<string> => {
  if (stop === undefined || stop === null) return []
  const list: unknown = Predicate.isString(stop) ? [stop] : stop
  if (!Array.isArray(list) || !list.every(Predicate.isString)) throw invalidType("stop", "one of a string or array of strings", stop)
  if (list.length > MAX_STOPS) {
    throw new Bad(`Invalid 'stop': array too long. Expected an array with maximum length ${MAX_STOPS}, but got an array with length ${list.length} instead.`, "stop", "array_above_max_length")
  }
  return list.filter((one) => one !== "")
}

const read = (body: Body): Call => {
  const model = requiredModel(body)
  const conversation = readMessages(body["messages"])
  const stream = optionalBoolean(body, "stream")
  const options = body["stream_options"]
  let includeUsage = false
  if (options !== undefined && options !== null) {
    if (!stream) throw new Bad("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    if (!Predicate.isObject(options)) throw invalidType("stream_options", "an object", options)
    includeUsage = optionalBoolean(options, "include_usage")
  }
  optionalNumber(body, "temperature", 0, 2)
  optionalNumber(body, "top_p", 0, 1)
  optionalNumber(body, "presence_penalty", -2, 2)
  optionalNumber(body, "frequency_penalty", -2, 2)
  const effort = body["reasoning_effort"]
  if (effort !== undefined && effort !== null && !(Predicate.isString(effort) && EFFORTS.includes(effort))) {
    throw invalidValue("reasoning_effort", effort, EFFORTS)
  }
  const older = optionalNumber(body, "max_tokens", 1, Number.MAX_SAFE_INTEGER, true)
  const newer = optionalNumber(body, "max_completion_tokens", 1, Number.MAX_SAFE_INTEGER, true)
  if (older !== null && newer !== null) {
    throw new Bad("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.", "max_tokens")
  }
  const tools = readTools(body["tools"])
  return {
    model,
    stream,
    n: optionalNumber(body, "n", 1, MAX_N, true) ?? 1,
    includeUsage,
    maxTokens: newer ?? older,
    stop: readStop(body["stop"]),
    lastUserText: conversation.lastUserText,
    toolResult: conversation.toolResult,
    tools,
    toolChoice: readToolChoice(body["tool_choice"], tools),
    json: readJson(body["response_format"]),
    promptTokens: conversation.tokens
  }
}

/** Runs a strict reader; the first `Bad` it meets is the refusal. */
export const strictly = <A>(reader: (body: Body, request: RequestHead) => A) => (body: Body, request: RequestHead): Result.Result<A, Refusal> => {
  try {
    return Result.succeed(reader(body, request))
  } catch (error) {
    if (error instanceof Bad) return Result.fail(error.refusal)
    throw error
  }
}

export const readChatRequest = strictly(read)
