/**
 * The format of local model servers: `POST /api/chat`, newline-delimited JSON, streamed unless `stream: false`.
 *
 * Stream: one line per token, tool calls in one line, the last line `done: true` with reason and counts.
 */
import * as Predicate from "effect/Predicate"
import { countTokens } from "../text.ts"
import { Bad, strictly } from "./chatRequest.ts"
import { localStreamError, renderLocalError } from "./errors.ts"
import type { Answer, Body, Call, Choice, Format, Tool, Usage, WireEvent } from "./Format.ts"

const ROLES = ["system", "user", "assistant", "tool"]
const TOKENS_PER_MESSAGE = 4
/** A made-up speed for the durations that are reported. */
const NANOS_PER_TOKEN = 1_000_000

const bad = (message: string): Bad => new Bad(message, null)

const readMessages = (messages: unknown) => {
  if (messages !== undefined && !Array.isArray(messages)) throw bad("json: cannot unmarshal into Go struct field ChatRequest.messages of type []api.Message")
  let lastUserText = ""
  let toolResult: string | null = null
  let tokens = 0
  for (const message of messages ?? []) {
    if (!Predicate.isObject(message)) throw bad("json: cannot unmarshal into Go struct field ChatRequest.messages of type api.Message")
    const { content = "", role } = message
    if (!Predicate.isString(role) || !ROLES.includes(role)) throw bad(`invalid role: ${String(role)}, role must be one of [${ROLES.join(", ")}]`)
    if (!Predicate.isString(content)) throw bad("json: cannot unmarshal into Go struct field ChatRequest.messages.content of type string")
    tokens += countTokens(content) + TOKENS_PER_MESSAGE
    if (role === "tool") toolResult = toolResult === null ? content : `${String(toolResult)}\n${content}`
    else toolResult = null
    if (role === "user") lastUserText = content
  }
  return { lastUserText, toolResult, tokens }
}

const readTools = (tools: unknown): ReadonlyArray<Tool> => {
  if (!Array.isArray(tools)) return []
  return tools.map((tool: unknown) => {
    const fn = Predicate.isObject(tool) ? tool["function"] : undefined
    if (!Predicate.isObject(fn) || !Predicate.isString(fn["name"])) throw bad("json: cannot unmarshal into Go struct field ChatRequest.tools of type api.Tool")
    return { name: fn["name"], parameters: fn["parameters"] }
  })
}

const read = strictly((body: Body): Call => {
  const { format, model, options = {}, stream = true } = body
  if (!Predicate.isString(model) || model === "") throw bad("model is required")
  if (!Predicate.isBoolean(stream)) throw bad("json: cannot unmarshal into Go struct field ChatRequest.stream of type bool")
  if (!Predicate.isObject(options)) throw bad("json: cannot unmarshal into Go struct field ChatRequest.options of type map[string]interface {}")
  const conversation = readMessages(body["messages"])
  const predict = options["num_predict"]
  const stop = options["stop"]
  return {
    model,
    stream,
    n: 1,
    includeUsage: true,
    maxTokens: Predicate.isNumber(predict) && predict > 0 ? predict : null,
    stop: Array.isArray(stop) ? stop.filter(Predicate.isString) : [],
    lastUserText: conversation.lastUserText,
    toolResult: conversation.toolResult,
    tools: readTools(body["tools"]),
    toolChoice: "auto",
    json: format === "json" ? { schema: undefined } : Predicate.isObject(format) ? { schema: format } : null,
    promptTokens: conversation.tokens,
    streamType: "application/x-ndjson"
  }
})

const argsOf = (pieces: ReadonlyArray<string>): unknown => {
  try {
    return JSON.parse(pieces.join(""))
  } catch {
    return pieces.join("")
  }
}

const toolCalls = (choice: Choice) => choice.toolCalls.map((call) => ({ function: { name: call.name, arguments: argsOf(call.pieces) } }))

const endOf = (choice: Choice | undefined, usage: Usage | null) => ({
  done: true,
  done_reason: choice?.finish === "length" ? "length" : choice === undefined || choice.finish === "tool_calls" ? "stop" : choice.finish,
  ...(usage === null ? {} : {
    total_duration: (usage.promptTokens + usage.completionTokens) * NANOS_PER_TOKEN,
    load_duration: NANOS_PER_TOKEN,
    prompt_eval_count: usage.promptTokens,
    prompt_eval_duration: usage.promptTokens * NANOS_PER_TOKEN,
    eval_count: usage.completionTokens,
    eval_duration: usage.completionTokens * NANOS_PER_TOKEN
  })
})

const headOf = (call: Call, answer: Answer) => ({ model: call.model, created_at: new Date(answer.created * 1000).toISOString() })

function* events(call: Call, answer: Answer): Generator<WireEvent> {
  const choice = answer.choices[0]
  const head = headOf(call, answer)
  const line = (message: object, tokens: number, end: object = { done: false }) =>
    ({ data: `${JSON.stringify({ ...head, message: { role: "assistant", ...message }, ...end })}\n`, tokens })
  for (const token of choice?.reasoning ?? []) yield line({ content: "", thinking: token }, 1)
  for (const token of choice?.text ?? []) yield line({ content: token }, 1)
  if (choice !== undefined && choice.toolCalls.length > 0) {
    yield line({ content: "", tool_calls: toolCalls(choice) }, choice.toolCalls.reduce((sum, one) => sum + one.pieces.length, 0))
  }
  yield { ...line({ content: "" }, 0, endOf(choice, answer.usage)), usage: answer.usage !== null, terminal: true }
}

const body = (call: Call, answer: Answer): string => {
  const choice = answer.choices[0]
  return JSON.stringify({
    ...headOf(call, answer),
    message: {
      role: "assistant",
      content: choice?.text.join("") ?? "",
      ...(choice !== undefined && choice.reasoning.length > 0 ? { thinking: choice.reasoning.join("") } : {}),
      ...(choice !== undefined && choice.toolCalls.length > 0 ? { tool_calls: toolCalls(choice) } : {})
    },
    ...endOf(choice, answer.usage)
  })
}

export const localModelServer: Format = {
  name: "local-model-server",
  matches: (path) => path === "/api/chat",
  identify: (_, request) => ({ model: Predicate.isString(request["model"]) ? request["model"] : null, stream: request["stream"] !== false }),
  read,
  events,
  body,
  renderError: renderLocalError,
  streamError: localStreamError
}
