/**
 * The responses format: `POST /v1/responses`.
 *
 * Stream: response.created, response.in_progress, then per output item (reasoning, message, function or custom call) added, parts,
 * deltas, done; at last response.completed, or response.incomplete, with the whole response and its usage. Sequence numbers start
 * at 0. A script's finishReason `refusal` makes the text a refusal; reasoning is encrypted when `include` asks for it.
 */
import { renderChatError, responsesStreamError } from "#src/simulator/formats/errors.ts"
import type { SimulatedAnswer, AnsweredToolCall, SimulatedCall, Choice, Format, SimulatedUsage, WireEvent } from "#src/simulator/formats/Format.ts"
import { type Own, ownOf, readResponsesRequest } from "./responsesRequest.ts"

const responsesUsage = (usage: SimulatedUsage) => ({
  input_tokens: usage.promptTokens,
  input_tokens_details: { cached_tokens: usage.cachedTokens, ...(usage.cacheWriteTokens > 0 ? { cache_write_tokens: usage.cacheWriteTokens } : {}) },
  output_tokens: usage.completionTokens,
  output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  total_tokens: usage.totalTokens
})

const INCOMPLETE: { readonly [finish: string]: string } = { length: "max_output_tokens", content_filter: "content_filter" }
const REFUSAL = "refusal"

/** The vendor's encrypted items begin like this; what follows is the text, so that a test can see which item came back. */
const encrypted = (text: string): string => `gAAAA${Buffer.from(text).toString("base64url")}`

const reasoningItem = (answer: SimulatedAnswer, own: Own, index: number, text: string | null) => ({
  id: `rs_${answer.id}_${index}`,
  type: "reasoning",
  summary: text === null ? [] : [{ type: "summary_text", text }],
  ...(own.encrypts && text !== null ? { encrypted_content: encrypted(text) } : {})
})

const logprobOf = (token: string) => ({ token, bytes: [...Buffer.from(token)], logprob: -0.25, top_logprobs: [] })

const textPart = (choice: Choice, own: Own, text: string) =>
  choice.finish === REFUSAL
    ? { type: REFUSAL, refusal: text }
    : { type: "output_text", annotations: [], logprobs: own.logprobs && text !== "" ? choice.text.map(logprobOf) : [], text }

const messageItem = (answer: SimulatedAnswer, own: Own, index: number, choice: Choice, whole: boolean, status: string) => ({
  id: `msg_${answer.id}_${index}`,
  type: "message",
  status,
  role: "assistant",
  content: whole ? [textPart(choice, own, choice.text.join(""))] : []
})

const callItem = (call: AnsweredToolCall, own: Own, args: string, status: string) =>
  own.custom.has(call.name)
    ? { id: `ctc_${call.id}`, type: "custom_tool_call", status, call_id: call.id, name: call.name, input: args }
    : { id: `fc_${call.id}`, type: "function_call", status, call_id: call.id, name: call.name, arguments: args }

const hasMessage = (choice: Choice): boolean => choice.text.length > 0 || choice.toolCalls.length === 0

const statusOf = (choice: Choice): string => INCOMPLETE[choice.finish] === undefined ? "completed" : "incomplete"

const outputOf = (answer: SimulatedAnswer, own: Own): ReadonlyArray<object> => {
  const choice = answer.choices[0]
  if (choice === undefined) return []
  let index = 0
  return [
    ...(choice.reasoning.length > 0 ? [reasoningItem(answer, own, index++, choice.reasoning.join(""))] : []),
    ...(hasMessage(choice) ? [messageItem(answer, own, index++, choice, true, statusOf(choice))] : []),
    ...choice.toolCalls.map((call) => callItem(call, own, call.pieces.join(""), statusOf(choice)))
  ]
}

const toolChoiceOf = (call: SimulatedCall, own: Own): unknown =>
  typeof call.toolChoice === "string" ? call.toolChoice : own.body["tool_choice"] ?? { type: "function", name: call.toolChoice.name }

const responseOf = (call: SimulatedCall, answer: SimulatedAnswer, ended: boolean): object => {
  const own = ownOf(call)
  const asked = (field: string, otherwise: unknown): unknown => own.body[field] ?? otherwise
  const reason = ended ? INCOMPLETE[answer.choices[0]?.finish ?? "stop"] : undefined
  return {
    id: `resp_${answer.id}`,
    object: "response",
    created_at: answer.created,
    completed_at: ended && reason === undefined ? answer.created : null,
    status: !ended ? "in_progress" : reason === undefined ? "completed" : "incomplete",
    background: false,
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    frequency_penalty: asked("frequency_penalty", 0),
    instructions: asked("instructions", null),
    max_output_tokens: call.maxTokens,
    max_tool_calls: asked("max_tool_calls", null),
    model: call.model,
    output: ended ? outputOf(answer, own) : [],
    parallel_tool_calls: asked("parallel_tool_calls", true),
    presence_penalty: asked("presence_penalty", 0),
    previous_response_id: asked("previous_response_id", null),
    prompt_cache_key: asked("prompt_cache_key", null),
    reasoning: { effort: null, summary: null, ...(asked("reasoning", {}) as object) },
    safety_identifier: asked("safety_identifier", null),
    service_tier: own.body["service_tier"] === "auto" ? "default" : asked("service_tier", "default"),
    store: asked("store", true),
    temperature: asked("temperature", 1),
    text: { format: { type: "text" }, ...(asked("text", {}) as object) },
    tool_choice: toolChoiceOf(call, own),
    tools: (asked("tools", []) as ReadonlyArray<{ readonly type?: unknown }>).map((tool) =>
      tool.type === "function" ? { description: null, parameters: null, strict: true, ...tool } : tool),
    top_logprobs: asked("top_logprobs", 0),
    top_p: asked("top_p", 1),
    truncation: asked("truncation", "disabled"),
    usage: ended && answer.usage !== null ? responsesUsage(answer.usage) : null,
    user: asked("user", null),
    metadata: asked("metadata", {})
  }
}

function* events(call: SimulatedCall, answer: SimulatedAnswer): Generator<WireEvent> {
  const own = ownOf(call)
  let sequence = 0
  const event = (type: string, fields: object, tokens = 0): WireEvent => ({
    event: type,
    data: JSON.stringify({ type, sequence_number: sequence++, ...fields }),
    tokens
  })
  const deltas = function*(type: string, fields: object, tokens: ReadonlyArray<string>, logprobs = false): Generator<WireEvent> {
    const rest = JSON.stringify(fields).slice(1, -1)
    for (const token of tokens) {
      const more = logprobs ? `,"logprobs":${JSON.stringify([logprobOf(token)])}` : ""
      yield { event: type, data: `{"type":"${type}","sequence_number":${sequence++},${rest}${more},"delta":${JSON.stringify(token)}}`, tokens: 1 }
    }
  }
  yield event("response.created", { response: responseOf(call, answer, false) })
  yield event("response.in_progress", { response: responseOf(call, answer, false) })
  const choice = answer.choices[0]
  let index = 0
  if (choice !== undefined && choice.reasoning.length > 0) {
    const text = choice.reasoning.join("")
    const at = { item_id: `rs_${answer.id}_${index}`, output_index: index, summary_index: 0 }
    yield event("response.output_item.added", { output_index: index, item: reasoningItem(answer, own, index, null) })
    yield event("response.reasoning_summary_part.added", { ...at, part: { type: "summary_text", text: "" } })
    yield* deltas("response.reasoning_summary_text.delta", at, choice.reasoning)
    yield event("response.reasoning_summary_text.done", { ...at, text })
    yield event("response.reasoning_summary_part.done", { ...at, part: { type: "summary_text", text } })
    yield event("response.output_item.done", { output_index: index, item: reasoningItem(answer, own, index, text) })
    index++
  }
  if (choice !== undefined && hasMessage(choice)) {
    const text = choice.text.join("")
    const at = { item_id: `msg_${answer.id}_${index}`, output_index: index, content_index: 0 }
    yield event("response.output_item.added", { output_index: index, item: messageItem(answer, own, index, choice, false, "in_progress") })
    yield event("response.content_part.added", { ...at, part: textPart(choice, own, "") })
    if (choice.finish === REFUSAL) {
      yield* deltas("response.refusal.delta", at, choice.text)
      yield event("response.refusal.done", { ...at, refusal: text })
    } else {
      yield* deltas("response.output_text.delta", own.logprobs ? at : { ...at, logprobs: [] }, choice.text, own.logprobs)
      yield event("response.output_text.done", { ...at, logprobs: own.logprobs ? choice.text.map(logprobOf) : [], text })
    }
    yield event("response.content_part.done", { ...at, part: textPart(choice, own, text) })
    yield event("response.output_item.done", { output_index: index, item: messageItem(answer, own, index, choice, true, statusOf(choice)) })
    index++
  }
  for (const one of choice?.toolCalls ?? []) {
    const args = one.pieces.join("")
    const isCustom = own.custom.has(one.name)
    const at = { item_id: `${isCustom ? "ctc" : "fc"}_${one.id}`, output_index: index }
    yield event("response.output_item.added", { output_index: index, item: callItem(one, own, "", "in_progress") })
    yield* deltas(isCustom ? "response.custom_tool_call_input.delta" : "response.function_call_arguments.delta", at, one.pieces)
    yield isCustom
      ? event("response.custom_tool_call_input.done", { ...at, input: args })
      : event("response.function_call_arguments.done", { ...at, name: one.name, arguments: args })
    yield event("response.output_item.done", { output_index: index, item: callItem(one, own, args, statusOf(choice!)) })
    index++
  }
  const end = INCOMPLETE[choice?.finish ?? "stop"] === undefined ? "response.completed" : "response.incomplete"
  yield { ...event(end, { response: responseOf(call, answer, true) }), usage: answer.usage !== null, terminal: true }
}

export const responses: Format = {
  name: "responses",
  matches: (path) => path === "/v1/responses" || path === "/v1/responses/input_tokens",
  read: readResponsesRequest,
  events,
  body: (call, answer) => JSON.stringify(ownOf(call).counts ? { object: "response.input_tokens", input_tokens: call.promptTokens } : responseOf(call, answer, true)),
  renderError: renderChatError,
  streamError: responsesStreamError
}
