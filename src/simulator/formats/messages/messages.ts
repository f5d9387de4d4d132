/**
 * The messages format: `POST /v1/messages` and `POST /v1/messages/count_tokens`.
 *
 * Stream: message_start, then per block start, deltas and stop (thinking closes before text, text before tool use), then
 * message_delta with the stop reason and usage, then message_stop. A ping follows the first block's start. A text document that may
 * be cited is cited. As with the vendor, magic words in the prompt make it redact its thoughts or refuse.
 */
import { messagesStreamError, renderMessagesError } from "#src/simulator/formats/errors.ts"
import type { SimulatedAnswer, SimulatedCall, Choice, Format, SimulatedUsage, WireEvent } from "#src/simulator/formats/Format.ts"
import { signatureOf } from "./messagesBlocks.ts"
import { type MessagesCall, readMessagesRequest } from "./messagesRequest.ts"

const REDACT = "ANTHROPIC_MAGIC_STRING_TRIGGER_REDACTED_THINKING"
const REFUSE = "ANTHROPIC_MAGIC_STRING_TRIGGER_REFUSAL"
const CITED_CHARACTERS = 24

const STOP_REASONS: { readonly [finish: string]: string } = { stop: "end_turn", length: "max_tokens", tool_calls: "tool_use", content_filter: "refusal" }

/** Calls come from this format's own reader; one of another kind has none of its members set. */
const own = (call: SimulatedCall): Partial<MessagesCall> & SimulatedCall => call

/** Which stop sequence cut the echo, if one did. */
const stoppedBy = (call: SimulatedCall, choice: Choice | undefined): string | null => {
  if (choice === undefined || choice.finish !== "stop") return null
  const text = choice.text.join("")
  return call.stop.find((one) => call.lastUserText.startsWith(text + one)) ?? null
}

const ending = (call: SimulatedCall, choice: Choice | undefined): { readonly stop_reason: string; readonly stop_sequence: string | null } => {
  if (call.lastUserText.includes(REFUSE)) return { stop_reason: "refusal", stop_sequence: null }
  const stop = stoppedBy(call, choice)
  const finish = choice?.finish ?? "stop"
  return { stop_reason: stop === null ? STOP_REASONS[finish] ?? finish : "stop_sequence", stop_sequence: stop }
}

const choiceOf = (call: SimulatedCall, answer: SimulatedAnswer): Choice | undefined => call.lastUserText.includes(REFUSE) ? undefined : answer.choices[0]

const inputUsage = (usage: SimulatedUsage) => ({
  input_tokens: usage.promptTokens - usage.cachedTokens - usage.cacheWriteTokens,
  cache_creation_input_tokens: usage.cacheWriteTokens,
  cache_read_input_tokens: usage.cachedTokens,
  cache_creation: { ephemeral_5m_input_tokens: usage.cacheWriteTokens, ephemeral_1h_input_tokens: 0 },
  service_tier: "standard"
})

const toolUseId = (id: string): string => id.replace(/^call_/, "toolu_")

const headOf = (call: SimulatedCall, answer: SimulatedAnswer) => ({ id: `msg_${answer.id}`, type: "message", role: "assistant", model: call.model })

const citationOf = (call: SimulatedCall): object | null => {
  const cited = own(call).cited ?? null
  if (cited === null) return null
  const quote = cited.text.slice(0, CITED_CHARACTERS)
  return {
    type: "char_location", cited_text: quote, document_index: cited.index, document_title: cited.title, file_id: null, start_char_index: 0, end_char_index: quote.length
  }
}

const event = (type: string, fields: object = {}): WireEvent => ({ event: type, data: JSON.stringify({ type, ...fields }), tokens: 0 })

function* events(call: SimulatedCall, answer: SimulatedAnswer): Generator<WireEvent> {
  const { usage } = answer
  const choice = choiceOf(call, answer)
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
  const delta = (value: object): WireEvent => ({ event: "content_block_delta", data: `${head()}${JSON.stringify(value)}}`, tokens: 0 })
  const stop = (): WireEvent => event("content_block_stop", { index: index++ })
  if (choice !== undefined && choice.reasoning.length > 0) {
    if (call.lastUserText.includes(REDACT)) yield* start({ type: "redacted_thinking", data: signatureOf(answer.id) })
    else {
      yield* start({ type: "thinking", thinking: "", signature: "" })
      if (own(call).hidesThinking !== true) yield* deltas(choice.reasoning, "thinking_delta", "thinking")
      yield delta({ type: "signature_delta", signature: signatureOf(answer.id) })
    }
    yield stop()
  }
  if (choice !== undefined && choice.text.length > 0) {
    const citation = citationOf(call)
    yield* start({ type: "text", text: "", ...(citation === null ? {} : { citations: [] }) })
    yield* deltas(choice.text, "text_delta", "text")
    if (citation !== null) yield delta({ type: "citations_delta", citation })
    yield stop()
  }
  for (const one of choice?.toolCalls ?? []) {
    yield* start({ type: "tool_use", id: toolUseId(one.id), name: one.name, input: {} })
    yield delta({ type: "input_json_delta", partial_json: "" })
    yield* deltas(one.pieces, "input_json_delta", "partial_json")
    yield stop()
  }
  yield {
    event: "message_delta",
    data: JSON.stringify({
      type: "message_delta",
      delta: ending(call, choice),
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

const thinkingOf = (call: SimulatedCall, answer: SimulatedAnswer, choice: Choice): object =>
  call.lastUserText.includes(REDACT)
    ? { type: "redacted_thinking", data: signatureOf(answer.id) }
    : { type: "thinking", thinking: own(call).hidesThinking === true ? "" : choice.reasoning.join(""), signature: signatureOf(answer.id) }

const body = (call: SimulatedCall, answer: SimulatedAnswer): string => {
  if (own(call).counts === true) return JSON.stringify({ input_tokens: call.promptTokens })
  const choice = choiceOf(call, answer)
  const citation = citationOf(call)
  return JSON.stringify({
    ...headOf(call, answer),
    content: choice === undefined ? [] : [
      ...(choice.reasoning.length > 0 ? [thinkingOf(call, answer, choice)] : []),
      ...(choice.text.length > 0 ? [{ type: "text", text: choice.text.join(""), ...(citation === null ? {} : { citations: [citation] }) }] : []),
      ...choice.toolCalls.map((one) => ({ type: "tool_use", id: toolUseId(one.id), name: one.name, input: inputOf(one.pieces.join("")) }))
    ],
    ...ending(call, choice),
    ...(answer.usage === null ? {} : { usage: { ...inputUsage(answer.usage), output_tokens: answer.usage.completionTokens } })
  })
}

export const messages: Format = {
  name: "messages",
  matches: (path) => path === "/v1/messages" || path === "/v1/messages/count_tokens",
  read: readMessagesRequest,
  events,
  body,
  renderError: renderMessagesError,
  streamError: messagesStreamError
}
