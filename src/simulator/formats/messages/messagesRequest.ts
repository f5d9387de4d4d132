/**
 * Reads a Messages request as strictly as the vendor does: required fields and headers, unknown fields, ranges, ids that pair up,
 * the rules of thinking, and what a model of a version refuses.
 */
import * as Predicate from "effect/Predicate"
import { Bad, strictly } from "#src/simulator/formats/chatRequest.ts"
import type { Body, SimulatedCall, SimulatedRefusal, RequestHead, Tool } from "#src/simulator/formats/Format.ts"
import { bad, cacheControl, type CitedDocument, extraFields, readBlocks, type Tally } from "./messagesBlocks.ts"

const TOKENS_PER_MESSAGE = 4
const TOKENS_PER_TOOL_PROMPT = 346
const PROMPT_FIELDS = ["model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control"]
const FIELDS = [
  ...PROMPT_FIELDS, "max_tokens", "metadata", "stop_sequences", "stream", "temperature", "top_p", "top_k", "service_tier", "container", "inference_geo"
]
/** Known with a beta header alone. */
const BETA_FIELDS = ["context_management", "mcp_servers", "output_format", "speed"]
const EFFORTS = ["low", "medium", "high", "xhigh", "max"]
const VENDOR_TOOL = /^(?:bash|text_editor|computer|web_search|web_fetch|code_execution|memory|tool_search_tool_(?:regex|bm25))_\d{8}$/

/** A `SimulatedCall` with what else this vendor's answer depends on. */
export interface MessagesCall extends SimulatedCall {
  /** `POST /v1/messages/count_tokens`. */
  readonly counts: boolean
  /** The thoughts are signed but not shown. */
  readonly hidesThinking: boolean
  /** The first text document that may be cited. */
  readonly cited: CitedDocument | null
}

class Unauthorized extends Bad {
  override readonly refusal: SimulatedRefusal = { status: 401, type: "authentication_error", message: "x-api-key header is required" }
  constructor() {
    super("", null)
  }
}

/** Major * 100 + minor of a `claude-` id, 0 for other names. */
const versionOf = (model: string): number => {
  const found = /claude-(?:[a-z]+-)?(\d{1,2})(?:-(\d{1,2}))?(?!\d)/.exec(model)
  return found === null ? 0 : Number(found[1]) * 100 + Number(found[2] ?? 0)
}

interface Conversation {
  readonly lastUserText: string
  readonly toolResult: string | null
  readonly tokens: number
  /** The model must continue after tool results, and its calls do not begin with a thought. */
  readonly thoughtless: boolean
}

const readMessages = (messages: unknown, tally: Tally, systemMessages: boolean): Conversation => {
  if (messages === undefined) throw bad("messages: Field required")
  if (!Array.isArray(messages)) throw bad("messages: Input should be a valid list")
  if (messages.length === 0) throw bad("messages: at least one message is required")
  let lastUserText = ""
  let toolResult: string | null = null
  let tokens = 0
  let expected: ReadonlyArray<string> = []
  let thoughtless = false
  const ids = new Set<string>()
  messages.forEach((message: unknown, i) => {
    const at = `messages.${i}`
    if (!Predicate.isObject(message)) throw bad(`${at}: Input should be an object`)
    const role = message["role"]
    if (role === undefined) throw bad(`${at}.role: Field required`)
    if (role !== "user" && role !== "assistant" && !(role === "system" && systemMessages)) {
      throw bad(`messages: Unexpected role "${String(role)}". The Messages API accepts "user" and "assistant"; a system prompt is the top-level \`system\` parameter.`)
    }
    if (i === 0 && role !== "user") throw bad('messages: first message must use the "user" role')
    extraFields(message, ["role", "content"], at)
    if (message["content"] === undefined) throw bad(`${at}.content: Field required`)
    const blocks = readBlocks(message["content"], `${at}.content`, role, tally)
    const isLast = i === messages.length - 1
    if (blocks.types.length === 0 && !(isLast && role === "assistant")) throw bad(`${at}: all messages must have non-empty content except for the optional final assistant message`)
    if (isLast && role === "assistant" && blocks.types.at(-1) === "text" && /\s$/.test(blocks.text)) throw bad("messages: final assistant content cannot end with trailing whitespace")
    tokens += blocks.tokens + TOKENS_PER_MESSAGE
    if (role === "system") return
    const stray = blocks.toolResults.find((result) => role !== "user" || !expected.includes(result.id))
    if (stray !== undefined) {
      throw bad(`${at}.content: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray.id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`)
    }
    const leading = blocks.types.findIndex((type) => type !== "tool_result")
    const inPlace = leading === -1 ? blocks.toolResults : blocks.toolResults.slice(0, leading)
    const missing = expected.filter((id) => !inPlace.some((result) => result.id === id))
    if (missing.length > 0) {
      throw bad(`messages.${i - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`)
    }
    if (new Set(blocks.toolResults.map((result) => result.id)).size < blocks.toolResults.length) throw bad(`${at}.content: each tool_use must have a single result. Found multiple \`tool_result\` blocks.`)
    if (blocks.toolUses.some((id) => ids.has(id))) throw bad(`${at}: \`tool_use\` ids must be unique`)
    blocks.toolUses.forEach((id) => ids.add(id))
    expected = role === "assistant" ? blocks.toolUses : []
    if (role === "assistant") thoughtless = (blocks.toolUses.length > 0 || isLast) && blocks.types[0]?.endsWith("thinking") !== true
    else {
      if (blocks.text !== "") lastUserText = blocks.text
      toolResult = blocks.toolResults.length > 0 ? blocks.toolResults.map((result) => result.text).join("\n") : null
      if (toolResult === null) thoughtless = false
    }
  })
  if (expected.length > 0) throw bad(`messages.${messages.length - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${expected.join(", ")}.`)
  return { lastUserText, toolResult, tokens, thoughtless }
}

const readTools = (tools: unknown, tally: Tally): ReadonlyArray<Tool> => {
  if (tools === undefined) return []
  if (!Array.isArray(tools)) throw bad("tools: Input should be a valid list")
  const read = tools.map((tool: unknown, i) => {
    if (!Predicate.isObject(tool)) throw bad(`tools.${i}: Input should be an object`)
    const type = tool["type"] ?? "custom"
    if (!Predicate.isString(type) || (type !== "custom" && !VENDOR_TOOL.test(type))) throw bad(`tools.${i}: Input tag '${String(type)}' found using 'type' does not match any of the expected tags`)
    const at = `tools.${i}.${type}`
    const name = tool["name"]
    if (!Predicate.isString(name)) throw bad(`${at}.name: Field required`)
    cacheControl(tool["cache_control"], at, tally)
    if (type !== "custom") return { name, parameters: { type: "object" } }
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(name)) throw bad(`${at}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`)
    if (tool["description"] !== undefined && !Predicate.isString(tool["description"])) throw bad(`${at}.description: Input should be a valid string`)
    const schema = tool["input_schema"]
    if (!Predicate.isObject(schema)) throw bad(`${at}.input_schema: Field required`)
    if (schema["type"] === undefined) throw bad(`${at}.input_schema.type: Field required`)
    if (schema["type"] !== "object") throw bad(`${at}.input_schema.type: Input should be 'object'`)
    if (tool["strict"] !== undefined && tool["strict"] !== null && !Predicate.isBoolean(tool["strict"])) throw bad(`${at}.strict: Input should be a valid boolean`)
    if (tool["strict"] === true) closedSchema(schema, `${at}.input_schema`)
    extraFields(tool, ["type", "name", "description", "input_schema", "strict", "cache_control", "input_examples", "defer_loading", "allowed_callers", "eager_input_streaming"], at)
    return { name, parameters: schema }
  })
  if (new Set(read.map((tool) => tool.name)).size < read.length) throw bad("tools: Tool names must be unique.")
  return read
}

const readToolChoice = (choice: unknown, tools: ReadonlyArray<Tool>): SimulatedCall["toolChoice"] => {
  if (choice === undefined) return "auto"
  if (!Predicate.isObject(choice)) throw bad("tool_choice: Input should be an object")
  const type = choice["type"]
  const name = choice["name"]
  if (type !== "auto" && type !== "any" && type !== "tool" && type !== "none") throw bad(`tool_choice: Input tag '${String(type)}' found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'`)
  extraFields(choice, ["type", ...(type === "tool" ? ["name"] : []), ...(type === "none" ? [] : ["disable_parallel_tool_use"])], `tool_choice.${type}`)
  if (choice["disable_parallel_tool_use"] !== undefined && !Predicate.isBoolean(choice["disable_parallel_tool_use"])) throw bad(`tool_choice.${type}.disable_parallel_tool_use: Input should be a valid boolean`)
  if (tools.length === 0) throw bad("tool_choice: `tool_choice` may only be specified while providing `tools`.")
  if (type === "any") return "required"
  if (type !== "tool") return type
  if (!Predicate.isString(name)) throw bad("tool_choice.tool.name: Field required")
  if (!tools.some((tool) => tool.name === name)) throw bad(`tool_choice: Tool '${name}' not found in provided tools`)
  return { name }
}

interface Thinking {
  readonly type: "enabled" | "adaptive" | null
  readonly budget: number
  readonly hidden: boolean
}

const readThinking = (thinking: unknown, version: number): Thinking => {
  const none = { type: null, budget: 0, hidden: false } as const
  if (thinking === undefined || thinking === null) return none
  if (!Predicate.isObject(thinking)) throw bad("thinking: Input should be an object")
  const type = thinking["type"]
  if (type !== "enabled" && type !== "adaptive" && type !== "disabled") throw bad(`thinking: Input tag '${String(type)}' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'`)
  extraFields(thinking, ["type", ...(type === "enabled" ? ["budget_tokens"] : []), ...(type === "disabled" ? [] : ["display"])], `thinking.${type}`)
  const display = thinking["display"] ?? null
  if (display !== null && display !== "summarized" && display !== "omitted") throw bad(`thinking.${type}.display: Input should be 'summarized' or 'omitted'`)
  if (type === "disabled") return none
  if (type === "adaptive") {
    if (version > 0 && version < 406) throw bad("adaptive thinking is not supported on this model")
    return { type, budget: 0, hidden: display === "omitted" }
  }
  if (version >= 407) throw bad('"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.')
  const budget = thinking["budget_tokens"]
  if (budget === undefined) throw bad("thinking.enabled.budget_tokens: Field required")
  if (!Predicate.isNumber(budget) || !Number.isInteger(budget)) throw bad("thinking.enabled.budget_tokens: Input should be a valid integer")
  if (budget < 1024) throw bad("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
  return { type, budget, hidden: display === "omitted" }
}

/** Schemas that the vendor enforces must close their objects. */
const closedSchema = (schema: unknown, at: string): void => {
  if (!Predicate.isObject(schema)) return
  if (schema["type"] === "object" && schema["additionalProperties"] !== false) throw bad(`${at}: For 'object' type, 'additionalProperties' must be explicitly set to false`)
  const properties = schema["properties"]
  if (Predicate.isObject(properties)) for (const inner of Object.values(properties)) closedSchema(inner, at)
  closedSchema(schema["items"], at)
}

const readOutput = (config: unknown, version: number, model: string): SimulatedCall["json"] => {
  if (config === undefined || config === null) return null
  if (!Predicate.isObject(config)) throw bad("output_config: Input should be an object")
  extraFields(config, ["effort", "format", "task_budget"], "output_config")
  const effort = config["effort"] ?? null
  if (effort !== null) {
    if (!Predicate.isString(effort) || !EFFORTS.includes(effort)) throw bad(`output_config.effort: Input should be ${EFFORTS.map((one) => `'${one}'`).join(", ")}`)
    if (version > 0 && version < 406 && !(version === 405 && model.includes("opus"))) throw bad("This model does not support the effort parameter.")
    if ((effort === "xhigh" && version > 0 && version < 407) || (effort === "max" && version === 405)) throw bad(`This model does not support effort level '${effort}'.`)
  }
  const format = config["format"] ?? null
  if (format === null) return null
  if (!Predicate.isObject(format) || format["type"] !== "json_schema") throw bad("output_config.format: Input should have type 'json_schema'")
  extraFields(format, ["type", "schema"], "output_config.format")
  if (!Predicate.isObject(format["schema"])) throw bad("output_config.format.schema: Field required")
  closedSchema(format["schema"], "output_config.format.schema")
  return { schema: format["schema"] }
}

const numberIn = (body: Body, name: string, minimum: number, maximum: number, integer = false): number | null => {
  const value = body[name]
  if (value === undefined || value === null) return null
  if (!Predicate.isNumber(value) || (integer && !Number.isInteger(value))) throw bad(`${name}: Input should be a valid ${integer ? "integer" : "number"}`)
  if (value < minimum) throw bad(`${name}: Input should be greater than or equal to ${minimum}`)
  if (value > maximum) throw bad(`${name}: range: ${minimum}..${maximum}`)
  return value
}

const readSampling = (body: Body, version: number, thinking: Thinking, toolChoice: SimulatedCall["toolChoice"], thoughtless: boolean, maxTokens: number): void => {
  const temperature = numberIn(body, "temperature", 0, 1)
  const topP = numberIn(body, "top_p", 0, 1)
  const topK = numberIn(body, "top_k", 0, 100_000, true)
  if (version >= 407 && ((temperature ?? 1) !== 1 || (topP ?? 1) !== 1 || topK !== null)) throw bad("`temperature`, `top_p` and `top_k` are not supported on this model.")
  if (version >= 401 && temperature !== null && topP !== null) throw bad("`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
  if (thinking.type === null) return
  if (temperature !== null && temperature !== 1) throw bad("`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.")
  if (topK !== null) throw bad("`top_k` must be unset when thinking is enabled or in adaptive mode.")
  if (topP !== null && topP < 0.95) throw bad("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled or in adaptive mode.")
  if (toolChoice === "required" || typeof toolChoice === "object") throw bad("Thinking may not be enabled when tool_choice forces tool use.")
  if (thinking.type !== "enabled") return
  if (thinking.budget >= maxTokens) throw bad("`max_tokens` must be greater than `thinking.budget_tokens`.")
  if (thoughtless) {
    throw bad("messages: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).")
  }
}

const readStops = (stop: unknown): ReadonlyArray<string> => {
  if (stop === undefined || stop === null) return []
  if (!Array.isArray(stop) || !stop.every(Predicate.isString)) throw bad("stop_sequences: Input should be a valid list")
  if (stop.some((one) => one.trim() === "")) throw bad("stop_sequences: each stop sequence must contain non-whitespace")
  return stop
}

const readIdentity = (body: Body): void => {
  const metadata = body["metadata"] ?? null
  if (metadata !== null) {
    if (!Predicate.isObject(metadata)) throw bad("metadata: Input should be an object")
    extraFields(metadata, ["user_id"], "metadata")
    const user = metadata["user_id"] ?? null
    if (user !== null && (!Predicate.isString(user) || user.length > 512)) throw bad("metadata.user_id: String should have at most 512 characters")
  }
  const tier = body["service_tier"] ?? null
  if (tier !== null && tier !== "auto" && tier !== "standard_only") throw bad("service_tier: Input should be 'auto' or 'standard_only'")
}

const readMaxTokens = (maxTokens: unknown): number => {
  if (maxTokens === undefined) throw bad("max_tokens: Field required")
  if (!Predicate.isNumber(maxTokens) || !Number.isInteger(maxTokens)) throw bad("max_tokens: Input should be a valid integer")
  if (maxTokens < 1) throw bad("max_tokens: Input should be greater than or equal to 1")
  return maxTokens
}

const read = (body: Body, request: RequestHead): MessagesCall => {
  const { headers } = request
  if (headers["anthropic-version"] === undefined) throw bad("anthropic-version: header is required")
  if (headers["x-api-key"] === undefined && headers.authorization === undefined) throw new Unauthorized()
  const counts = request.path.endsWith("/count_tokens")
  extraFields(body, [...(counts ? PROMPT_FIELDS : FIELDS), ...(headers["anthropic-beta"] === undefined ? [] : BETA_FIELDS)], "")
  const model = body["model"]
  if (!Predicate.isString(model) || model === "") throw bad("model: Field required")
  const version = versionOf(model)
  const maxTokens = counts ? Number.MAX_SAFE_INTEGER : readMaxTokens(body["max_tokens"])
  const tally: Tally = { breakpoints: 0, documents: 0, cited: null }
  cacheControl(body["cache_control"], "", tally)
  const system = body["system"] === undefined ? 0 : readBlocks(body["system"], "system", "system", tally).tokens
  const conversation = readMessages(body["messages"], tally, version >= 408 && model.includes("opus"))
  const stream = body["stream"] ?? false
  if (!Predicate.isBoolean(stream)) throw bad("stream: Input should be a valid boolean")
  const tools = readTools(body["tools"], tally)
  const toolChoice = readToolChoice(body["tool_choice"], tools)
  const thinking = readThinking(body["thinking"], version)
  readSampling(body, version, thinking, toolChoice, conversation.thoughtless, maxTokens)
  readIdentity(body)
  return {
    model,
    stream: stream && !counts,
    n: 1,
    includeUsage: true,
    maxTokens: counts ? null : maxTokens,
    stop: readStops(body["stop_sequences"]),
    lastUserText: conversation.lastUserText,
    toolResult: conversation.toolResult,
    tools,
    toolChoice,
    json: readOutput(body["output_config"], version, model),
    promptTokens: conversation.tokens + system + (counts && tools.length > 0 ? TOKENS_PER_TOOL_PROMPT : 0),
    counts,
    hidesThinking: thinking.hidden,
    cited: tally.cited
  }
}

export const readMessagesRequest = strictly(read)
