/**
 * The chat-completions format: `POST /v1/chat/completions`.
 *
 * Stream: a role chunk per choice, reasoning_content, content, tool calls (head, then argument pieces), one chunk with
 * finish_reason, the usage chunk with `choices: []` only when the client asked for it, then `[DONE]`.
 */
import { readChatRequest } from "./chatRequest.ts"
import { chatStreamError, renderChatError } from "./errors.ts"
import type { Answer, Call, Choice, Format, Usage, WireEvent } from "./Format.ts"

const FINGERPRINT = "fp_sim000001"

export const chatUsage = (usage: Usage) => ({
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
const runningUsage = (usage: Usage, completionTokens: number): string =>
  JSON.stringify(chatUsage({ ...usage, completionTokens, totalTokens: usage.promptTokens + completionTokens }))

function* deltas(choice: Choice): Generator<readonly [delta: string, tokens: number]> {
  const quiet = choice.text.length === 0 && choice.toolCalls.length > 0
  yield [quiet ? `{"role":"assistant","content":null}` : `{"role":"assistant","content":"","refusal":null}`, 0]
  for (const token of choice.reasoning) yield [`{"reasoning_content":${JSON.stringify(token)}}`, 1]
  for (const token of choice.text) yield [`{"content":${JSON.stringify(token)}}`, 1]
  for (const [index, call] of choice.toolCalls.entries()) {
    const head = { tool_calls: [{ index, id: call.id, type: "function", function: { name: call.name, arguments: "" } }] }
    yield [JSON.stringify(head), 0]
    for (const piece of call.pieces) {
      yield [`{"tool_calls":[{"index":${index},"function":{"arguments":${JSON.stringify(piece)}}}]}`, 1]
    }
  }
}

function* events(call: Call, answer: Answer): Generator<WireEvent> {
  const head =
    `{"id":"chatcmpl-${answer.id}","object":"chat.completion.chunk","created":${answer.created},"model":${JSON.stringify(call.model)},` +
    `"service_tier":"default","system_fingerprint":"${FINGERPRINT}","choices":[`
  const usage = answer.usage
  // A vendor that was asked for usage says `null` on every chunk but the last.
  const plain = call.includeUsage && answer.usageOn === "vendor" && usage !== null ? `],"usage":null}` : "]}"
  let sent = 0
  const tail = (): string => answer.usageOn === "every" && usage !== null ? `],"usage":${runningUsage(usage, sent)}}` : plain
  const chunk = (index: number, delta: string, finish: string): string =>
    `${head}{"index":${index},"delta":${delta},"logprobs":null,"finish_reason":${finish}}`

  // Choices take turns, as a vendor samples them side by side.
  const sources = answer.choices.map((choice) => deltas(choice))
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
        const finish = JSON.stringify(answer.choices[index]!.finish)
        yield { data: chunk(index, "{}", finish) + end, tokens: 0, usage: onFinish || answer.usageOn === "every" }
        continue
      }
      const [delta, tokens] = next.value
      sent += tokens
      yield { data: chunk(index, delta, "null") + tail(), tokens }
    }
  }
  if (call.includeUsage && answer.usageOn === "vendor" && usage !== null) {
    yield { data: `${head}],"usage":${JSON.stringify(chatUsage(usage))}}`, tokens: 0, usage: true }
  }
  yield { data: "[DONE]", tokens: 0, terminal: true }
}

const body = (call: Call, answer: Answer): string =>
  JSON.stringify({
    id: `chatcmpl-${answer.id}`,
    object: "chat.completion",
    created: answer.created,
    model: call.model,
    choices: answer.choices.map((choice, index) => ({
      index,
      message: {
        role: "assistant",
        content: choice.text.length === 0 && choice.toolCalls.length > 0 ? null : choice.text.join(""),
        ...(choice.reasoning.length > 0 ? { reasoning_content: choice.reasoning.join("") } : {}),
        ...(choice.toolCalls.length > 0
          ? {
            tool_calls: choice.toolCalls.map((one) => ({
              id: one.id,
              type: "function",
              function: { name: one.name, arguments: one.pieces.join("") }
            }))
          }
          : {}),
        refusal: null,
        annotations: []
      },
      logprobs: null,
      finish_reason: choice.finish
    })),
    ...(answer.usage === null ? {} : { usage: chatUsage(answer.usage) }),
    service_tier: "default",
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
