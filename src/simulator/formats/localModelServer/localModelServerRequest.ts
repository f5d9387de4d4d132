/**
 * Reads a local model server's request as its typed decoder does: unknown fields are ignored, a known one of the wrong type is
 * refused in the decoder's words, and so are words that are none of a fixed set.
 */
import * as Predicate from "effect/Predicate"
import { countTokens } from "#src/simulator/text.ts"
import { Bad, strictly } from "#src/simulator/formats/chatRequest.ts"
import type { Body, SimulatedCall, Tool } from "#src/simulator/formats/Format.ts"

const ROLES = ["system", "user", "assistant", "tool"]
const LEVELS = ["high", "medium", "low", "max"]
const MAX_TOP_LOGPROBS = 20
const TOKENS_PER_MESSAGE = 4
const TOKENS_PER_IMAGE = 85
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

const OPTIONS: { readonly [type: string]: ReadonlyArray<string> } = {
  integer: ["num_ctx", "num_batch", "num_gpu", "main_gpu", "num_thread", "num_keep", "seed", "num_predict", "top_k", "repeat_last_n"],
  float32: ["temperature", "top_p", "min_p", "typical_p", "repeat_penalty", "presence_penalty", "frequency_penalty"],
  boolean: ["use_mmap"]
}

const bad = (message: string): Bad => new Bad(message, null)

const nameOf = (value: unknown): string => Array.isArray(value) ? "array" : value === null || value === undefined ? "null" : typeof value === "boolean" ? "bool" : typeof value

const wrongType = (field: string, type: string, value: unknown): Bad =>
  bad(`json: cannot unmarshal ${nameOf(value)} into Go struct field ${field} of type ${type}`)

/** A field that is absent, null, or of the type that `is` knows. */
const optional = <A>(record: Body, key: string, is: (value: unknown) => value is A, struct: string, type: string): A | undefined => {
  const value = record[key]
  if (value === undefined || value === null) return undefined
  if (!is(value)) throw wrongType(`${struct}.${key}`, type, value)
  return value
}

const isList = (value: unknown): value is ReadonlyArray<unknown> => Array.isArray(value)
const isMap = (value: unknown): value is Body => Predicate.isObject(value) && !Array.isArray(value)
const isStrings = (value: unknown): value is ReadonlyArray<string> => Array.isArray(value) && value.every(Predicate.isString)

const readImages = (message: Body): number => {
  const images = optional(message, "images", isList, "ChatRequest.messages", "[]api.ImageData") ?? []
  for (const image of images) {
    if (!Predicate.isString(image)) throw wrongType("ChatRequest.messages.images", "api.ImageData", image)
    const data = image.replace(/[\r\n]/g, "")
    if (data.length % 4 !== 0 || !BASE64.test(data)) throw bad(`illegal base64 data at input byte ${Math.max(0, data.search(/[^A-Za-z0-9+/]/))}`)
  }
  return images.length
}

const readCalls = (message: Body): number => {
  let tokens = 0
  for (const call of optional(message, "tool_calls", isList, "ChatRequest.messages", "[]api.ToolCall") ?? []) {
    if (!isMap(call)) throw wrongType("ChatRequest.messages.tool_calls", "api.ToolCall", call)
    optional(call, "id", Predicate.isString, "ToolCall", "string")
    const fn = optional(call, "function", isMap, "ToolCall", "api.ToolCallFunction") ?? {}
    const name = optional(fn, "name", Predicate.isString, "ToolCallFunction", "string") ?? ""
    const args = optional(fn, "arguments", isMap, "ToolCallFunction", "api.ToolCallFunctionArguments") ?? {}
    tokens += countTokens(name) + countTokens(JSON.stringify(args))
  }
  return tokens
}

const readMessages = (body: Body) => {
  let lastUserText = ""
  let toolResult: string | null = null
  let tokens = 0
  for (const message of optional(body, "messages", isList, "ChatRequest", "[]api.Message") ?? []) {
    if (!isMap(message)) throw wrongType("ChatRequest.messages", "api.Message", message)
    const role = (optional(message, "role", Predicate.isString, "ChatRequest.messages", "string") ?? "").toLowerCase()
    if (!ROLES.includes(role)) throw bad(`invalid role: ${role}, role must be one of [${ROLES.join(", ")}]`)
    const content = optional(message, "content", Predicate.isString, "ChatRequest.messages", "string") ?? ""
    const thinking = optional(message, "thinking", Predicate.isString, "ChatRequest.messages", "string") ?? ""
    for (const key of ["tool_name", "tool_call_id"]) optional(message, key, Predicate.isString, "ChatRequest.messages", "string")
    tokens += countTokens(content) + countTokens(thinking) + readImages(message) * TOKENS_PER_IMAGE + readCalls(message) + TOKENS_PER_MESSAGE
    if (role === "tool") toolResult = toolResult === null ? content : `${String(toolResult)}\n${content}`
    else toolResult = null
    if (role === "user") lastUserText = content
  }
  return { lastUserText, toolResult, tokens }
}

/** Types of a parameter: a word or a list of words. */
const readProperty = (property: unknown): void => {
  if (!isMap(property)) throw wrongType("ToolFunctionParameters.properties", "api.ToolProperty", property)
  const type = property["type"]
  if (type !== undefined && type !== null && !Predicate.isString(type) && !isStrings(type)) throw bad("invalid type: must be a string or an array of strings")
  optional(property, "description", Predicate.isString, "ToolProperty", "string")
  optional(property, "enum", isList, "ToolProperty", "[]interface {}")
}

const readTools = (body: Body): ReadonlyArray<Tool> =>
  (optional(body, "tools", isList, "ChatRequest", "api.Tools") ?? []).map((tool) => {
    if (!isMap(tool)) throw wrongType("ChatRequest.tools", "api.Tool", tool)
    optional(tool, "type", Predicate.isString, "Tool", "string")
    const fn = optional(tool, "function", isMap, "Tool", "api.ToolFunction")
    const name = fn === undefined ? undefined : optional(fn, "name", Predicate.isString, "ToolFunction", "string")
    if (fn === undefined || name === undefined) throw wrongType("ChatRequest.tools", "api.Tool", tool["function"])
    optional(fn, "description", Predicate.isString, "ToolFunction", "string")
    const parameters = optional(fn, "parameters", isMap, "ToolFunction", "api.ToolFunctionParameters")
    if (parameters !== undefined) {
      optional(parameters, "type", Predicate.isString, "ToolFunctionParameters", "string")
      optional(parameters, "required", isStrings, "ToolFunctionParameters", "[]string")
      for (const property of Object.values(optional(parameters, "properties", isMap, "ToolFunctionParameters", "map[string]api.ToolProperty") ?? {})) readProperty(property)
    }
    return { name, parameters }
  })

const readOptions = (body: Body) => {
  const options = optional(body, "options", isMap, "ChatRequest", "map[string]interface {}") ?? {}
  for (const [type, names] of Object.entries(OPTIONS)) {
    for (const name of names) {
      const value = options[name]
      if (value === undefined || value === null) continue
      if (type === "boolean" ? !Predicate.isBoolean(value) : !Predicate.isNumber(value)) throw bad(`option "${name}" must be of type ${type}`)
    }
  }
  const stop = options["stop"] ?? []
  if (!Array.isArray(stop)) throw bad('option "stop" must be of type array')
  if (!isStrings(stop)) throw bad('option "stop" must be of an array of strings')
  const predict = options["num_predict"]
  return { stop, maxTokens: Predicate.isNumber(predict) && predict > 0 ? predict : null }
}

const readFormat = (format: unknown): SimulatedCall["json"] => {
  if (format === undefined || format === null || format === "") return null
  if (format === "json") return { schema: undefined }
  if (isMap(format)) return { schema: format }
  throw bad(`invalid format: ${JSON.stringify(format)}; expected "json" or a valid JSON Schema object`)
}

const readThink = (think: unknown): void => {
  if (think === undefined || think === null || Predicate.isBoolean(think)) return
  if (!Predicate.isString(think)) throw bad("think must be a boolean or string (\"high\", \"medium\", \"low\", true, or false)")
  if (!LEVELS.includes(think)) throw bad(`invalid think value: ${JSON.stringify(think)} (must be "high", "medium", "low", true, or false)`)
}

const readLogprobs = (body: Body): void => {
  optional(body, "logprobs", Predicate.isBoolean, "ChatRequest", "bool")
  const top = optional(body, "top_logprobs", Predicate.isNumber, "ChatRequest", "int") ?? 0
  if (!Number.isInteger(top)) throw wrongType("ChatRequest.top_logprobs", "int", top)
  if (top < 0 || top > MAX_TOP_LOGPROBS) throw bad(`top_logprobs must be between 0 and ${MAX_TOP_LOGPROBS}`)
}

const readKeepAlive = (value: unknown): void => {
  if (value === undefined || value === null || Predicate.isNumber(value)) return
  if (!Predicate.isString(value) || !/^-?(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$|^-?\d+$/.test(value)) throw bad(`time: invalid duration ${JSON.stringify(value)}`)
}

export const readLocalRequest = strictly((body: Body): SimulatedCall => {
  const model = optional(body, "model", Predicate.isString, "ChatRequest", "string") ?? ""
  if (model === "") throw bad("model is required")
  const stream = optional(body, "stream", Predicate.isBoolean, "ChatRequest", "bool") ?? true
  const conversation = readMessages(body)
  readThink(body["think"])
  readLogprobs(body)
  readKeepAlive(body["keep_alive"])
  const { maxTokens, stop } = readOptions(body)
  return {
    model,
    stream,
    n: 1,
    includeUsage: true,
    maxTokens,
    stop,
    lastUserText: conversation.lastUserText,
    toolResult: conversation.toolResult,
    tools: readTools(body),
    toolChoice: "auto",
    json: readFormat(body["format"]),
    promptTokens: conversation.tokens,
    streamType: "application/x-ndjson"
  }
})
