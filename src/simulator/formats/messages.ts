/**
 * The messages format: `POST /v1/messages`.
 *
 * Stream: message_start, then per block start, deltas and stop (thinking closes before text, text before tool use), then
 * message_delta with the stop reason and usage, then message_stop. A ping follows the first block's start.
 */
import * as Predicate from "effect/Predicate"
import { countTokens } from "../text.ts"
import { Bad, strictly } from "./chatRequest.ts"
import { messagesStreamError, renderMessagesError } from "./errors.ts"
import type { Answer, Body, Call, Format, RequestHead, Tool, Usage, WireEvent } from "./Format.ts"

const BLOCKS = ["text", "image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking"]
const TOKENS_PER_MESSAGE = 4
const TOKENS_PER_MEDIUM = 85

const bad = (message: string): Bad => new Bad(message, null)

interface Blocks {
  readonly text: string
  readonly tokens: number
  readonly toolUses: ReadonlyArray<string>
  readonly toolResults: ReadonlyArray<{ readonly id: string; readonly text: string }>
}

const readBlocks = (content: unknown, at: string): Blocks => {
  if (Predicate.isString(content)) return { text: content, tokens: countTokens(content), toolUses: [], toolResults: [] }
  if (!Array.isArray(content)) throw bad(`${at}: Input should be a valid string or list`)
  const toolUses: Array<string> = []
  const toolResults: Array<{ readonly id: string; readonly text: string }> = []
  let text = ""
  let tokens = 0
  content.forEach((block: unknown, i) => {
    if (!Predicate.isObject(block)) throw bad(`${at}.${i}: Input should be an object`)
    const type = block["type"]
    if (!Predicate.isString(type) || !BLOCKS.includes(type)) {
      throw bad(`${at}.${i}: Input tag '${String(type)}' found using 'type' does not match any of the expected tags: ${BLOCKS.map((one) => `'${one}'`).join(", ")}`)
    }
    if (type === "text") {
      if (!Predicate.isString(block["text"])) throw bad(`${at}.${i}.text.text: Field required`)
      if (block["text"] === "") throw bad(`${at}: text content blocks must be non-empty`)
      text += block["text"]
      tokens += countTokens(block["text"])
    } else if (type === "tool_use") {
      if (!Predicate.isString(block["id"]) || !Predicate.isString(block["name"])) throw bad(`${at}.${i}.tool_use.id: Field required`)
      toolUses.push(block["id"])
      tokens += countTokens(JSON.stringify(block["input"] ?? {})) + 1
    } else if (type === "tool_result") {
      const id = block["tool_use_id"]
      if (!Predicate.isString(id)) throw bad(`${at}.${i}.tool_result.tool_use_id: Field required`)
      const inner = block["content"] === undefined ? { text: "", tokens: 0 } : readBlocks(block["content"], `${at}.${i}.tool_result.content`)
      toolResults.push({ id, text: inner.text })
      tokens += inner.tokens
    } else {
      tokens += TOKENS_PER_MEDIUM
    }
  })
  return { text, tokens, toolUses, toolResults }
}

const readMessages = (messages: unknown) => {
  if (messages === undefined) throw bad("messages: Field required")
  if (!Array.isArray(messages)) throw bad("messages: Input should be a valid list")
  if (messages.length === 0) throw bad("messages: at least one message is required")
  let lastUserText = ""
  let toolResult: string | null = null
  let tokens = 0
  let expected: ReadonlyArray<string> = []
  messages.forEach((message: unknown, i) => {
    const at = `messages.${i}`
    if (!Predicate.isObject(message)) throw bad(`${at}: Input should be an object`)
    const role = message["role"]
    if (role === undefined) throw bad(`${at}.role: Field required`)
    if (role !== "user" && role !== "assistant") throw bad(`messages: Unexpected role "${String(role)}". The Messages API accepts "user" and "assistant"; a system prompt is the top-level \`system\` parameter.`)
    if (message["content"] === undefined) throw bad(`${at}.content: Field required`)
    const blocks = readBlocks(message["content"], `${at}.content`)
    tokens += blocks.tokens + TOKENS_PER_MESSAGE
    const stray = blocks.toolResults.find((result) => role !== "user" || !expected.includes(result.id))
    if (stray !== undefined) {
      throw bad(`${at}.content: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray.id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`)
    }
    const missing = expected.filter((id) => !blocks.toolResults.some((result) => result.id === id))
    if (missing.length > 0) {
      throw bad(`messages.${i - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`)
    }
    expected = role === "assistant" ? blocks.toolUses : []
    if (role === "user") {
      if (blocks.text !== "") lastUserText = blocks.text
      toolResult = blocks.toolResults.length > 0 ? blocks.toolResults.map((result) => result.text).join("\n") : null
    }
  })
  if (expected.length > 0) throw bad(`messages.${messages.length - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${expected.join(", ")}.`)
  return { lastUserText, toolResult, tokens }
}

const readTools = (tools: unknown): ReadonlyArray<Tool> => {
  if (tools === undefined) return []
  if (!Array.isArray(tools)) throw bad("tools: Input should be a valid list")
  return tools.map((tool: unknown, i) => {
    if (!Predicate.isObject(tool) || !Predicate.isString(tool["name"])) throw bad(`tools.${i}.name: Field required`)
    if (!Predicate.isString(tool["type"]) && !Predicate.isObject(tool["input_schema"])) throw bad(`tools.${i}.input_schema: Field required`)
    return { name: tool["name"], parameters: tool["input_schema"] }
  })
}

const readToolChoice = (choice: unknown, tools: ReadonlyArray<Tool>): Call["toolChoice"] => {
  if (choice === undefined) return "auto"
  if (!Predicate.isObject(choice)) throw bad("tool_choice: Input should be an object")
  const type = choice["type"]
  if (type === "auto" || type === "none") return type
  if (tools.length === 0) throw bad("tool_choice: `tool_choice` may only be specified while providing `tools`.")
  if (type === "any") return "required"
  const name = choice["name"]
  if (type !== "tool" || !Predicate.isString(name)) throw bad(`tool_choice: Input tag '${String(type)}' found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'`)
  if (!tools.some((tool) => tool.name === name)) throw bad(`tool_choice: Tool '${name}' not found in provided tools`)
  return { name }
}

const read = (body: Body, request: RequestHead): Call => {
  if (request.headers["anthropic-version"] === undefined) throw bad("anthropic-version: header is required")
  const model = body["model"]
  if (!Predicate.isString(model) || model === "") throw bad("model: Field required")
  const maxTokens = body["max_tokens"]
  if (maxTokens === undefined) throw bad("max_tokens: Field required")
  if (!Predicate.isNumber(maxTokens) || !Number.isInteger(maxTokens)) throw bad("max_tokens: Input should be a valid integer")
  if (maxTokens < 1) throw bad("max_tokens: Input should be greater than or equal to 1")
  const conversation = readMessages(body["messages"])
  const stream = body["stream"] ?? false
  if (!Predicate.isBoolean(stream)) throw bad("stream: Input should be a valid boolean")
  const stop = body["stop_sequences"] ?? []
  if (!Array.isArray(stop) || !stop.every(Predicate.isString)) throw bad("stop_sequences: Input should be a valid list")
  const temperature = body["temperature"] ?? 1
  if (!Predicate.isNumber(temperature) || temperature < 0 || temperature > 1) throw bad("temperature: range: 0..1")
  const system = body["system"] === undefined ? 0 : readBlocks(body["system"], "system").tokens
  const tools = readTools(body["tools"])
  return {
    model,
    stream,
    n: 1,
    includeUsage: true,
    maxTokens,
    stop,
    lastUserText: conversation.lastUserText,
    toolResult: conversation.toolResult,
    tools,
    toolChoice: readToolChoice(body["tool_choice"], tools),
    json: null,
    promptTokens: conversation.tokens + system
  }
}

const STOP_REASONS: { readonly [finish: string]: string } = { stop: "end_turn", length: "max_tokens", tool_calls: "tool_use", content_filter: "refusal" }

const stopReason = (finish: string): string => STOP_REASONS[finish] ?? finish

const inputUsage = (usage: Usage) => ({
  input_tokens: usage.promptTokens - usage.cachedTokens - usage.cacheWriteTokens,
  cache_creation_input_tokens: usage.cacheWriteTokens,
  cache_read_input_tokens: usage.cachedTokens
})

const toolUseId = (id: string): string => id.replace(/^call_/, "toolu_")

const signatureOf = (answer: Answer): string => Buffer.from(`signed:${answer.id}`).toString("base64")

const headOf = (call: Call, answer: Answer) => ({ id: `msg_${answer.id}`, type: "message", role: "assistant", model: call.model })

const event = (type: string, fields: object = {}): WireEvent => ({ event: type, data: JSON.stringify({ type, ...fields }), tokens: 0 })

function* events(call: Call, answer: Answer): Generator<WireEvent> {
  const { usage } = answer
  const choice = answer.choices[0]
  yield event("message_start", {
    message: {
      ...headOf(call, answer),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      ...(usage === null ? {} : { usage: { ...inputUsage(usage), output_tokens: 1 } })
    }
  })
  let index = 0
  const start = function*(block: object): Generator<WireEvent> {
    yield event("content_block_start", { index, content_block: block })
    if (index === 0) yield event("ping")
  }
  const head = (): string => `{"type":"content_block_delta","index":${index},"delta":`
  const deltas = function*(tokens: ReadonlyArray<string>, type: string, field: string): Generator<WireEvent> {
    for (const token of tokens) {
      yield { event: "content_block_delta", data: `${head()}{"type":"${type}","${field}":${JSON.stringify(token)}}}`, tokens: 1 }
    }
  }
  const stop = (): WireEvent => event("content_block_stop", { index: index++ })
  if (choice !== undefined && choice.reasoning.length > 0) {
    yield* start({ type: "thinking", thinking: "", signature: "" })
    yield* deltas(choice.reasoning, "thinking_delta", "thinking")
    yield { event: "content_block_delta", data: `${head()}{"type":"signature_delta","signature":"${signatureOf(answer)}"}}`, tokens: 0 }
    yield stop()
  }
  if (choice !== undefined && choice.text.length > 0) {
    yield* start({ type: "text", text: "" })
    yield* deltas(choice.text, "text_delta", "text")
    yield stop()
  }
  for (const one of choice?.toolCalls ?? []) {
    yield* start({ type: "tool_use", id: toolUseId(one.id), name: one.name, input: {} })
    yield { event: "content_block_delta", data: `${head()}{"type":"input_json_delta","partial_json":""}}`, tokens: 0 }
    yield* deltas(one.pieces, "input_json_delta", "partial_json")
    yield stop()
  }
  yield {
    event: "message_delta",
    data: JSON.stringify({
      type: "message_delta",
      delta: { stop_reason: stopReason(choice?.finish ?? "stop"), stop_sequence: null },
      ...(usage === null ? {} : { usage: { ...inputUsage(usage), output_tokens: usage.completionTokens } })
    }),
    tokens: 0,
    usage: usage !== null
  }
  yield { ...event("message_stop"), terminal: true }
}

/** Arguments as the object they should be; what is no JSON stays text, as a script wants it. */
const inputOf = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    return json
  }
}

const body = (call: Call, answer: Answer): string => {
  const choice = answer.choices[0]
  return JSON.stringify({
    ...headOf(call, answer),
    content: choice === undefined ? [] : [
      ...(choice.reasoning.length > 0 ? [{ type: "thinking", thinking: choice.reasoning.join(""), signature: signatureOf(answer) }] : []),
      ...(choice.text.length > 0 ? [{ type: "text", text: choice.text.join("") }] : []),
      ...choice.toolCalls.map((one) => ({ type: "tool_use", id: toolUseId(one.id), name: one.name, input: inputOf(one.pieces.join("")) }))
    ],
    stop_reason: stopReason(choice?.finish ?? "stop"),
    stop_sequence: null,
    ...(answer.usage === null ? {} : { usage: { ...inputUsage(answer.usage), output_tokens: answer.usage.completionTokens } })
  })
}

export const messages: Format = {
  name: "messages",
  matches: (path) => path === "/v1/messages",
  read: strictly(read),
  events,
  body,
  renderError: renderMessagesError,
  streamError: messagesStreamError
}
