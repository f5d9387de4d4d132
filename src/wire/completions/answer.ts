/** Whole answers of the legacy text completion: the text alone, without thoughts; tools do not exist here. */
import type { Answer, Choice, FinishReason, TokenLogprob, TokenUsage } from "#schemas/wire/conversation.ts"
import type { EncoderOptions } from "#src/wire/stream/StreamSink.ts"

export const encodeAnswer = (answer: Answer, options: EncoderOptions): string =>
  JSON.stringify({
    id: completionId(answer.id, options),
    object: "text_completion",
    created: answer.createdAt ?? options.now(),
    model: answer.model ?? options.model,
    choices: answer.choices.map((choice) => ({
      text: textOf(choice), index: choice.index, logprobs: choice.logprobs === null ? null : logprobs(choice.logprobs, 0),
      finish_reason: finishReason(choice.finish ?? "stop")
    })),
    ...(answer.usage === null ? {} : { usage: usage(answer.usage) }),
    ...(answer.systemFingerprint === null ? {} : { system_fingerprint: answer.systemFingerprint })
  })

const textOf = (choice: Choice): string =>
  choice.parts.map((part) => part.kind === "text" || part.kind === "refusal" ? part.text : "").join("")

/** The vendor's id when it is one of this format, else a new one. */
export const completionId = (id: string | null, options: EncoderOptions): string =>
  id !== null && id.startsWith("cmpl-") ? id : `cmpl-${options.makeId()}`

/** Why the answer ended, in the words of this format. */
export const finishReason = (finish: FinishReason): "stop" | "length" | "content_filter" => {
  switch (finish) {
    case "length":
    case "context": return "length"
    case "content-filter":
    case "refusal": return "content_filter"
    default: return "stop"
  }
}

/** Counts in the vendor's shape; the details where there are any. */
export const usage = ({ cacheCreation, cacheRead, input, output, reasoning }: TokenUsage) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  ...(cacheRead === 0 && cacheCreation === 0 ? {} : {
    prompt_tokens_details: { cached_tokens: cacheRead, ...(cacheCreation === 0 ? {} : { cache_creation_tokens: cacheCreation }) }
  }),
  ...(reasoning === 0 ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } })
})

/** The legacy columns; `offset`: characters of the answer before the first of these tokens. */
export const logprobs = (entries: ReadonlyArray<TokenLogprob>, offset: number) => {
  let at = offset
  return {
    tokens: entries.map((entry) => entry.token),
    token_logprobs: entries.map((entry) => entry.logprob),
    top_logprobs: entries.map((entry) => Object.fromEntries(entry.top.map((top) => [top.token, top.logprob]))),
    text_offset: entries.map((entry) => {
      const start = at
      at += entry.token.length
      return start
    })
  }
}
