/**
 * The chat-completions format: `POST /v1/chat/completions`.
 *
 * Stream: a role chunk per choice, reasoning_content, content, tool calls (head, then argument pieces), one chunk with
 * finish_reason, the usage chunk with `choices: []` only when the client asked for it, then `[DONE]`. A script's finishReason
 * `refusal` makes the text a refusal. As asked for: log probabilities, calls of custom tools, citations (`web_search_options`), and
 * reasoning with signed details (`reasoning`, one aggregator's dialect).
 */
import { type ChatCall, readChatRequest } from "./chatCompletionsRequest.ts"
import { chatStreamError, renderChatError } from "#src/simulator/formats/errors.ts"
import type { SimulatedAnswer, AnsweredToolCall, SimulatedCall, Choice, Format, SimulatedUsage, WireEvent } from "#src/simulator/formats/Format.ts"

const FINGERPRINT = "fp_sim000001"
const REFUSAL = "refusal"
const LOGPROB = -0.25

/** Calls come from this format's own reader; one of another kind has none of its members set. */
const own = (call: SimulatedCall): Partial<ChatCall> & SimulatedCall => call

export const chatUsage = (usage: SimulatedUsage) => ({
  prompt_tokens: usage.promptTokens,
  completion_tokens: usage.completionTokens,
  total_tokens: usage.totalTokens,
  prompt_tokens_details: {
    cached_tokens: usage.cachedTokens,
    audio_tokens: 0,
    ...(usage.cacheWriteTokens > 0 ? { cache_creation_tokens: usage.cacheWriteTokens } : {})
  },
  completion_tokens_details: {
    reasoning_tokens: usage.reasoningTokens,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0
  }
})

/** Usage as a stream stands after `completionTokens`, for vendors that report it on every chunk. */
const runningUsage = (usage: SimulatedUsage, completionTokens: number): string =>
  JSON.stringify(chatUsage({ ...usage, completionTokens, totalTokens: usage.promptTokens + completionTokens }))

const isRefusal = (choice: Choice): boolean => choice.finish === REFUSAL

/** A refusal ends as the vendor ends it. */
const finishOf = (choice: Choice): string => isRefusal(choice) ? "stop" : choice.finish

const logprobOf = (token: string, alternatives: number) => {
  const one = (text: string, logprob: number) => ({ token: text, logprob, bytes: [...Buffer.from(text)] })
  return { ...one(token, LOGPROB), top_logprobs: Array.from({ length: alternatives }, (_, i) => one(i === 0 ? token : `${token}${i}`, LOGPROB - i)) }
}

const logprobsOf = (tokens: ReadonlyArray<string>, alternatives: number) => ({
  content: tokens.map((token) => logprobOf(token, alternatives)),
  refusal: null
})

const signatureOf = (answer: SimulatedAnswer): string => Buffer.from(`sim-signature-${answer.id}`).toString("base64")

/** Cites the first word of the text. */
const citationOf = (choice: Choice) => ({
  type: "url_citation",
  url_citation: { start_index: 0, end_index: choice.text[0]?.trimEnd().length ?? 0, url: "https://sim.test/source", title: "A source" }
})

const tierOf = (call: SimulatedCall): string => call.serviceTier ?? "default"

const isCustom = (call: SimulatedCall, one: AnsweredToolCall): boolean => own(call).customTools?.includes(one.name) === true

const detail = (fields: object) => ({ type: "reasoning.text", ...fields, format: "sim-v1", index: 0 })

function* deltas(call: SimulatedCall, answer: SimulatedAnswer, choice: Choice): Generator<readonly [delta: string, tokens: number, token?: string]> {
  const quiet = choice.text.length === 0 && choice.toolCalls.length > 0
  const { cites, signedReasoning } = own(call)
  yield [quiet ? `{"role":"assistant","content":null}` : `{"role":"assistant","content":"","refusal":null}`, 0]
  if (signedReasoning === true) {
    for (const token of choice.reasoning) yield [JSON.stringify({ reasoning: token, reasoning_details: [detail({ text: token })] }), 1]
    if (choice.reasoning.length > 0) yield [JSON.stringify({ reasoning_details: [detail({ signature: signatureOf(answer) })] }), 0]
  } else for (const token of choice.reasoning) yield [`{"reasoning_content":${JSON.stringify(token)}}`, 1]
  const member = isRefusal(choice) ? REFUSAL : "content"
  for (const token of choice.text) yield [`{"${member}":${JSON.stringify(token)}}`, 1, token]
  if (cites === true && choice.text.length > 0) yield [JSON.stringify({ annotations: [citationOf(choice)] }), 0]
  for (const [index, one] of choice.toolCalls.entries()) {
    const custom = isCustom(call, one)
    const head = custom ? { type: "custom", custom: { name: one.name, input: "" } } : { type: "function", function: { name: one.name, arguments: "" } }
    yield [JSON.stringify({ tool_calls: [{ index, id: one.id, ...head }] }), 0]
    const [body, input] = custom ? ["custom", "input"] : ["function", "arguments"]
    for (const piece of one.pieces) {
      yield [`{"tool_calls":[{"index":${index},"${body}":{"${input}":${JSON.stringify(piece)}}}]}`, 1]
    }
  }
}

function* events(call: SimulatedCall, answer: SimulatedAnswer): Generator<WireEvent> {
  const head =
    `{"id":"chatcmpl-${answer.id}","object":"chat.completion.chunk","created":${answer.created},"model":${JSON.stringify(call.model)},` +
    `"service_tier":"${tierOf(call)}","system_fingerprint":"${FINGERPRINT}","choices":[`
  const usage = answer.usage
  // A vendor that was asked for usage says `null` on every chunk but the last.
  const plain = call.includeUsage && answer.usageOn === "vendor" && usage !== null ? `],"usage":null}` : "]}"
  let sent = 0
  const tail = (): string => answer.usageOn === "every" && usage !== null ? `],"usage":${runningUsage(usage, sent)}}` : plain
  const chunk = (index: number, delta: string, finish: string, logprobs = "null"): string =>
    `${head}{"index":${index},"delta":${delta},"logprobs":${logprobs},"finish_reason":${finish}}`
  const alternatives = own(call).logprobs ?? null

  // Choices take turns, as a vendor samples them side by side.
  const sources = answer.choices.map((choice) => deltas(call, answer, choice))
  let open = sources.length
  const done = sources.map(() => false)
  while (open > 0) {
    for (let index = 0; index < sources.length; index++) {
      if (done[index] === true) continue
      const next = sources[index]!.next()
      if (next.done === true) {
        done[index] = true
        open--
        const onFinish = answer.usageOn === "finish" && usage !== null && open === 0
        const end = onFinish ? `],"usage":${JSON.stringify(chatUsage(usage))}}` : tail()
        const finish = JSON.stringify(finishOf(answer.choices[index]!))
        yield { data: chunk(index, "{}", finish) + end, tokens: 0, usage: onFinish || answer.usageOn === "every" }
        continue
      }
      const [delta, tokens, token] = next.value
      sent += tokens
      const logprobs = alternatives === null || token === undefined ? undefined : JSON.stringify(logprobsOf([token], alternatives))
      yield { data: chunk(index, delta, "null", logprobs) + tail(), tokens }
    }
  }
  if (call.includeUsage && answer.usageOn === "vendor" && usage !== null) {
    yield { data: `${head}],"usage":${JSON.stringify(chatUsage(usage))}}`, tokens: 0, usage: true }
  }
  yield { data: "[DONE]", tokens: 0, terminal: true }
}

const toolCallOf = (call: SimulatedCall, one: AnsweredToolCall) =>
  isCustom(call, one)
    ? { id: one.id, type: "custom", custom: { name: one.name, input: one.pieces.join("") } }
    : { id: one.id, type: "function", function: { name: one.name, arguments: one.pieces.join("") } }

const reasoningOf = (call: SimulatedCall, answer: SimulatedAnswer, choice: Choice): object => {
  if (choice.reasoning.length === 0) return {}
  const text = choice.reasoning.join("")
  return own(call).signedReasoning === true
    ? { reasoning: text, reasoning_details: [detail({ text, signature: signatureOf(answer) })] }
    : { reasoning_content: text }
}

const body = (call: SimulatedCall, answer: SimulatedAnswer): string =>
  JSON.stringify({
    id: `chatcmpl-${answer.id}`,
    object: "chat.completion",
    created: answer.created,
    model: call.model,
    choices: answer.choices.map((choice, index) => {
      const text = choice.text.join("")
      const alternatives = own(call).logprobs ?? null
      const quiet = isRefusal(choice) || (choice.text.length === 0 && choice.toolCalls.length > 0)
      return {
        index,
        message: {
          role: "assistant",
          content: quiet ? null : text,
          ...reasoningOf(call, answer, choice),
          ...(choice.toolCalls.length > 0 ? { tool_calls: choice.toolCalls.map((one) => toolCallOf(call, one)) } : {}),
          refusal: isRefusal(choice) ? text : null,
          annotations: own(call).cites === true && text !== "" ? [citationOf(choice)] : []
        },
        logprobs: alternatives === null || text === "" ? null : logprobsOf(choice.text, alternatives),
        finish_reason: finishOf(choice)
      }
    }),
    ...(answer.usage === null ? {} : { usage: chatUsage(answer.usage) }),
    service_tier: tierOf(call),
    system_fingerprint: FINGERPRINT
  })

export const chatCompletions: Format = {
  name: "chat-completions",
  matches: (path) => path === "/v1/chat/completions",
  read: readChatRequest,
  events,
  body,
  renderError: renderChatError,
  streamError: chatStreamError
}
