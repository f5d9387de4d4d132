/**
 * The responses format: `POST /v1/responses`.
 *
 * Stream: response.created, response.in_progress, then per output item (reasoning, message, function call) added, parts, deltas,
 * done; at last response.completed, or response.incomplete, with the whole response and its usage. Sequence numbers start at 0.
 */
import { renderChatError, responsesStreamError } from "./errors.ts"
import type { Answer, AnsweredToolCall, Call, Format, Usage, WireEvent } from "./Format.ts"
import { readResponsesRequest } from "./responsesRequest.ts"

const responsesUsage = (usage: Usage) => ({
  input_tokens: usage.promptTokens,
  input_tokens_details: { cached_tokens: usage.cachedTokens },
  output_tokens: usage.completionTokens,
  output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  total_tokens: usage.totalTokens
})

const INCOMPLETE: { readonly [finish: string]: string } = { length: "max_output_tokens", content_filter: "content_filter" }

const reasoningItem = (answer: Answer, index: number, text: string | null) => ({
  id: `rs_${answer.id}_${index}`,
  type: "reasoning",
  summary: text === null ? [] : [{ type: "summary_text", text }]
})

const messageItem = (answer: Answer, index: number, text: string | null, status: string) => ({
  id: `msg_${answer.id}_${index}`,
  type: "message",
  status,
  role: "assistant",
  content: text === null ? [] : [{ type: "output_text", annotations: [], logprobs: [], text }]
})

const callItem = (call: AnsweredToolCall, args: string, status: string) => ({
  id: `fc_${call.id}`,
  type: "function_call",
  status,
  call_id: call.id,
  name: call.name,
  arguments: args
})

const outputOf = (answer: Answer): ReadonlyArray<object> => {
  const choice = answer.choices[0]
  if (choice === undefined) return []
  let index = 0
  return [
    ...(choice.reasoning.length > 0 ? [reasoningItem(answer, index++, choice.reasoning.join(""))] : []),
    ...(choice.text.length > 0 || choice.toolCalls.length === 0 ? [messageItem(answer, index++, choice.text.join(""), "completed")] : []),
    ...choice.toolCalls.map((call) => callItem(call, call.pieces.join(""), "completed"))
  ]
}

const responseOf = (call: Call, answer: Answer, ended: boolean): object => {
  const reason = ended ? INCOMPLETE[answer.choices[0]?.finish ?? "stop"] : undefined
  return {
    id: `resp_${answer.id}`,
    object: "response",
    created_at: answer.created,
    status: !ended ? "in_progress" : reason === undefined ? "completed" : "incomplete",
    background: false,
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    instructions: null,
    max_output_tokens: call.maxTokens,
    model: call.model,
    output: ended ? outputOf(answer) : [],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    service_tier: "default",
    store: true,
    temperature: 1,
    text: { format: { type: "text" } },
    tool_choice: typeof call.toolChoice === "string" ? call.toolChoice : { type: "function", name: call.toolChoice.name },
    tools: call.tools.map((tool) => ({ type: "function", name: tool.name, parameters: tool.parameters ?? null, strict: true })),
    top_p: 1,
    truncation: "disabled",
    usage: ended && answer.usage !== null ? responsesUsage(answer.usage) : null,
    user: null,
    metadata: {}
  }
}

function* events(call: Call, answer: Answer): Generator<WireEvent> {
  let sequence = 0
  const event = (type: string, fields: object, tokens = 0): WireEvent => ({
    event: type,
    data: JSON.stringify({ type, sequence_number: sequence++, ...fields }),
    tokens
  })
  const deltas = function*(type: string, fields: object, tokens: ReadonlyArray<string>): Generator<WireEvent> {
    const rest = JSON.stringify(fields).slice(1, -1)
    for (const token of tokens) {
      yield { event: type, data: `{"type":"${type}","sequence_number":${sequence++},${rest},"delta":${JSON.stringify(token)}}`, tokens: 1 }
    }
  }
  yield event("response.created", { response: responseOf(call, answer, false) })
  yield event("response.in_progress", { response: responseOf(call, answer, false) })
  const choice = answer.choices[0]
  let index = 0
  if (choice !== undefined && choice.reasoning.length > 0) {
    const text = choice.reasoning.join("")
    const at = { item_id: `rs_${answer.id}_${index}`, output_index: index, summary_index: 0 }
    yield event("response.output_item.added", { output_index: index, item: reasoningItem(answer, index, null) })
    yield event("response.reasoning_summary_part.added", { ...at, part: { type: "summary_text", text: "" } })
    yield* deltas("response.reasoning_summary_text.delta", at, choice.reasoning)
    yield event("response.reasoning_summary_text.done", { ...at, text })
    yield event("response.reasoning_summary_part.done", { ...at, part: { type: "summary_text", text } })
    yield event("response.output_item.done", { output_index: index, item: reasoningItem(answer, index, text) })
    index++
  }
  if (choice !== undefined && (choice.text.length > 0 || choice.toolCalls.length === 0)) {
    const text = choice.text.join("")
    const at = { item_id: `msg_${answer.id}_${index}`, output_index: index, content_index: 0 }
    const part = (own: string) => ({ type: "output_text", annotations: [], logprobs: [], text: own })
    yield event("response.output_item.added", { output_index: index, item: messageItem(answer, index, null, "in_progress") })
    yield event("response.content_part.added", { ...at, part: part("") })
    yield* deltas("response.output_text.delta", { ...at, logprobs: [] }, choice.text)
    yield event("response.output_text.done", { ...at, logprobs: [], text })
    yield event("response.content_part.done", { ...at, part: part(text) })
    yield event("response.output_item.done", { output_index: index, item: messageItem(answer, index, text, "completed") })
    index++
  }
  for (const one of choice?.toolCalls ?? []) {
    const args = one.pieces.join("")
    const at = { item_id: `fc_${one.id}`, output_index: index }
    yield event("response.output_item.added", { output_index: index, item: callItem(one, "", "in_progress") })
    yield* deltas("response.function_call_arguments.delta", at, one.pieces)
    yield event("response.function_call_arguments.done", { ...at, name: one.name, arguments: args })
    yield event("response.output_item.done", { output_index: index, item: callItem(one, args, "completed") })
    index++
  }
  const end = INCOMPLETE[choice?.finish ?? "stop"] === undefined ? "response.completed" : "response.incomplete"
  yield { ...event(end, { response: responseOf(call, answer, true) }), usage: answer.usage !== null, terminal: true }
}

export const responses: Format = {
  name: "responses",
  matches: (path) => path === "/v1/responses",
  read: readResponsesRequest,
  events,
  body: (call, answer) => JSON.stringify(responseOf(call, answer, true)),
  renderError: renderChatError,
  streamError: responsesStreamError
}
