/**
 * Reads a responses request as strictly as the vendor does.
 */
import * as Predicate from "effect/Predicate"
import { countTokens } from "../text.ts"
import { Bad, invalidType, optionalBoolean, optionalNumber, requiredModel, strictly } from "./chatRequest.ts"
import type { Body, Call, Tool } from "./Format.ts"

const ROLES = ["user", "assistant", "system", "developer"]
const TOKENS_PER_ITEM = 4
const TOKENS_PER_MEDIUM = 85

const missing = (param: string): Bad => new Bad(`Missing required parameter: '${param}'.`, param, "missing_required_parameter")

const contentOf = (content: unknown, param: string): { readonly text: string; readonly tokens: number } => {
  if (Predicate.isString(content)) return { text: content, tokens: countTokens(content) }
  if (!Array.isArray(content)) throw invalidType(param, "one of a string or array of objects", content)
  let text = ""
  let tokens = 0
  content.forEach((part: unknown, i) => {
    if (!Predicate.isObject(part) || !Predicate.isString(part["type"])) throw missing(`${param}[${i}].type`)
    if (["input_text", "output_text", "refusal"].includes(part["type"])) {
      const own = part["text"] ?? part["refusal"]
      if (!Predicate.isString(own)) throw missing(`${param}[${i}].text`)
      text += own
      tokens += countTokens(own)
    } else if (["input_image", "input_file", "input_audio"].includes(part["type"])) {
      tokens += TOKENS_PER_MEDIUM
    } else {
      throw new Bad(
        `Invalid value: '${part["type"]}'. Supported values are: 'input_text', 'input_image', 'output_text', 'refusal', 'input_file'.`,
        `${param}[${i}].type`,
        "invalid_value"
      )
    }
  })
  return { text, tokens }
}

const readInput = (input: unknown, continued: boolean) => {
  if (input === undefined) throw missing("input")
  if (Predicate.isString(input)) return { lastUserText: input, toolResult: null, tokens: countTokens(input) + TOKENS_PER_ITEM }
  if (!Array.isArray(input)) throw invalidType("input", "one of a string or array of objects", input)
  let lastUserText = ""
  let toolResult: string | null = null
  let tokens = 0
  const calls = new Set<string>()
  input.forEach((item: unknown, i) => {
    const at = `input[${i}]`
    if (!Predicate.isObject(item)) throw invalidType(at, "an object", item)
    const type = item["type"] ?? "message"
    tokens += TOKENS_PER_ITEM
    if (type === "message") {
      const role = item["role"]
      if (!Predicate.isString(role) || !ROLES.includes(role)) {
        throw new Bad(`Invalid value: '${String(role)}'. Supported values are: 'assistant', 'system', 'developer', and 'user'.`, `${at}.role`, "invalid_value")
      }
      const content = contentOf(item["content"], `${at}.content`)
      tokens += content.tokens
      toolResult = null
      if (role === "user") lastUserText = content.text
    } else if (type === "function_call") {
      const { arguments: args, call_id: id, name } = item
      if (!Predicate.isString(id)) throw missing(`${at}.call_id`)
      if (!Predicate.isString(name) || !Predicate.isString(args)) throw missing(`${at}.name`)
      calls.add(id)
      toolResult = null
      tokens += countTokens(name) + countTokens(args)
    } else if (type === "function_call_output") {
      const { call_id: id, output } = item
      if (!Predicate.isString(id)) throw missing(`${at}.call_id`)
      if (!calls.has(id) && !continued) throw new Bad(`No tool call found for function call output with call_id ${id}.`, "input")
      const content = contentOf(output, `${at}.output`)
      toolResult = toolResult === null ? content.text : `${String(toolResult)}\n${content.text}`
      tokens += content.tokens
      calls.delete(id)
    } else if (!["reasoning", "item_reference"].includes(String(type))) {
      throw new Bad(`Invalid value: '${String(type)}'.`, `${at}.type`, "invalid_value")
    }
  })
  const open = Array.from(calls)[0]
  if (open !== undefined) throw new Bad(`No tool output found for function call ${open}.`, "input")
  return { lastUserText, toolResult, tokens }
}

const readTools = (tools: unknown): ReadonlyArray<Tool> => {
  if (tools === undefined || tools === null) return []
  if (!Array.isArray(tools)) throw invalidType("tools", "an array of objects", tools)
  return tools.flatMap((tool: unknown, i) => {
    if (!Predicate.isObject(tool) || !Predicate.isString(tool["type"])) throw missing(`tools[${i}].type`)
    if (tool["type"] !== "function") return []
    if (!Predicate.isString(tool["name"])) throw missing(`tools[${i}].name`)
    return [{ name: tool["name"], parameters: tool["parameters"] }]
  })
}

const readToolChoice = (choice: unknown, tools: ReadonlyArray<Tool>): Call["toolChoice"] => {
  if (choice === undefined || choice === null) return "auto"
  if (choice === "auto" || choice === "none" || choice === "required") return choice
  if (Predicate.isObject(choice) && choice["type"] === "function" && Predicate.isString(choice["name"])) {
    const name = choice["name"]
    if (!tools.some((tool) => tool.name === name)) throw new Bad(`Tool choice '${name}' not found in 'tools' parameter.`, "tool_choice")
    return { name }
  }
  throw new Bad("Invalid value for 'tool_choice'.", "tool_choice", "invalid_value")
}

export const readResponsesRequest = strictly((body: Body): Call => {
  const model = requiredModel(body)
  const input = readInput(body["input"], Predicate.isString(body["previous_response_id"]))
  optionalNumber(body, "temperature", 0, 2)
  const tools = readTools(body["tools"])
  const format = Predicate.isObject(body["text"]) ? body["text"]["format"] : undefined
  const json = Predicate.isObject(format) && format["type"] !== "text" ? { schema: format["schema"] } : null
  const instructions = Predicate.isString(body["instructions"]) ? countTokens(body["instructions"]) + TOKENS_PER_ITEM : 0
  return {
    model,
    stream: optionalBoolean(body, "stream"),
    n: 1,
    includeUsage: true,
    maxTokens: optionalNumber(body, "max_output_tokens", 16, Number.MAX_SAFE_INTEGER, true),
    stop: [],
    lastUserText: input.lastUserText,
    toolResult: input.toolResult,
    tools,
    toolChoice: readToolChoice(body["tool_choice"], tools),
    json,
    promptTokens: input.tokens + instructions
  }
})
