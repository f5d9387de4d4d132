/** A neutral answer as a whole chat completion. */
import type { Answer, Choice, MediaPart, ContentPart, ReasoningPart, TokenLogprob, TokenUsage, ToolCallPart } from "#schemas/wire/conversation.ts"
import { writeAnnotation } from "#src/wire/chatCompletions/annotations.ts"
import * as Functions from "#src/wire/chatCompletions/functions.ts"
import { urlOf } from "#src/wire/chatCompletions/request/media.ts"
import { callDetail, extraContent, sealed, writeDetails } from "#src/wire/chatCompletions/reasoning.ts"
import * as ServiceTier from "#src/wire/neutral/serviceTier.ts"
import type { EncoderOptions } from "#src/wire/stream/StreamSink.ts"

type Out = Readonly<Record<string, unknown>>

export const encodeAnswer = (answer: Answer, options: EncoderOptions): string => {
  const tier = ServiceTier.commonWord(answer.serviceTier)
  return JSON.stringify({
    id: idOf(answer.id, options),
    object: "chat.completion",
    created: answer.createdAt ?? options.now(),
    model: answer.model ?? options.model,
    choices: answer.choices.map((choice) => choiceOf(choice, options)),
    ...(answer.usage === null ? {} : { usage: writeUsage(answer.usage) }),
    ...(tier === null ? {} : { service_tier: tier }),
    ...(answer.systemFingerprint === null ? {} : { system_fingerprint: answer.systemFingerprint })
  })
}

/** The vendor's id when it is one of this format, else a new one. */
export const idOf = (id: string | null, options: EncoderOptions): string =>
  id !== null && id.startsWith("chatcmpl-") ? id : `chatcmpl-${options.makeId()}`

/** Usage in the vendor's shape. */
export const writeUsage = (usage: TokenUsage): Out => ({
  prompt_tokens: usage.input,
  completion_tokens: usage.output,
  total_tokens: usage.input + usage.output,
  prompt_tokens_details: {
    cached_tokens: usage.cacheRead,
    ...(usage.cacheCreation > 0 ? { cache_creation_tokens: usage.cacheCreation } : {})
  },
  completion_tokens_details: { reasoning_tokens: usage.reasoning }
})

export const writeLogprobs = (entries: ReadonlyArray<TokenLogprob>): Out => ({
  content: entries.map(({ token, logprob, bytes, top }) => ({ token, logprob, bytes, top_logprobs: top })),
  refusal: null
})

const writeCall = (call: ToolCallPart): Out => ({
  id: call.id,
  ...(call.custom
    ? { type: "custom", custom: { name: call.name, input: call.arguments } }
    : { type: "function", function: { name: call.name, arguments: call.arguments === "" ? "{}" : call.arguments } }),
  ...(call.signature === null ? {} : { extra_content: extraContent(call.signature) })
})

/** `{type:"image_url", image_url:{url}}`; null for an image that is no link or data. */
export const writeImage = (part: MediaPart): Out | null => {
  const url = urlOf(part.source)
  return url === null ? null : { type: "image_url", image_url: { url } }
}

/** `{id, data, expires_at, transcript}`; null for audio that is no data. */
export const writeAudio = (part: MediaPart, options: EncoderOptions): Out | null =>
  part.source.kind === "base64"
    ? { id: `audio_${options.makeId()}`, data: part.source.data, expires_at: options.now() + audioSeconds, transcript: "" }
    : null

const audioSeconds = 3600

const choiceOf = (choice: Choice, options: EncoderOptions): Out => {
  const { parts } = choice
  const text = parts.map((part) => part.kind === "text" ? part.text : "").join("")
  const refusal = parts.map((part) => part.kind === "refusal" ? part.text : "").join("")
  const calls = parts.filter((part) => part.kind === "toolCall")
  const [first] = calls
  const called = first !== undefined && Functions.areUsed(options.request) ? first : null
  const others = called === null ? calls : calls.slice(1)
  const isSilent = text === "" && (calls.length > 0 || refusal !== "")
  const message = {
    role: "assistant",
    content: isSilent ? null : text,
    refusal: refusal === "" ? null : refusal,
    ...thoughts(parts.filter((part) => part.kind === "reasoning"), calls),
    ...attached(parts, options),
    ...(called === null ? {} : { function_call: { name: called.name, arguments: called.arguments === "" ? "{}" : called.arguments } }),
    ...(others.length > 0 ? { tool_calls: others.map(writeCall) } : {})
  }
  return {
    index: choice.index,
    message,
    logprobs: choice.logprobs === null ? null : writeLogprobs(choice.logprobs),
    finish_reason: Functions.finishOf(choice.finish, refusal !== "", called !== null)
  }
}

/** Plain text for every client; also the details when there is a signature that must be returned. */
const thoughts = (parts: ReadonlyArray<ReasoningPart>, calls: ReadonlyArray<ToolCallPart>): Out => {
  const signed = parts.some((part) => part.signature !== null) ? writeDetails(parts, sealed) : []
  const ofCalls = calls.flatMap(({ id, signature }) => signature === null ? [] : [{ id, signature }]).map(({ id, signature }, i) => callDetail(id, signature, parts.length + i))
  const text = parts.map((part) => part.text).filter((one) => one !== "").join("\n\n")
  return {
    ...(text === "" ? {} : { reasoning_content: text }),
    ...(signed.length + ofCalls.length > 0 ? { reasoning_details: [...signed, ...ofCalls] } : {})
  }
}

const attached = (parts: ReadonlyArray<ContentPart>, options: EncoderOptions): Out => {
  const annotations = parts.flatMap((part) => part.kind === "text" ? part.annotations : []).map(writeAnnotation).filter((one) => one !== null)
  const signature = parts.findLast((part) => part.kind === "text" && part.signature !== null)
  const images = parts.map((part) => part.kind === "image" ? writeImage(part) : null).filter((one) => one !== null)
  const spoken = parts.find((part): part is MediaPart => part.kind === "audio")
  const audio = spoken === undefined ? null : writeAudio(spoken, options)
  return {
    ...(annotations.length > 0 ? { annotations } : {}),
    ...(signature?.kind === "text" && signature.signature !== null ? { extra_content: extraContent(signature.signature) } : {}),
    ...(images.length > 0 ? { images } : {}),
    ...(audio === null ? {} : { audio })
  }
}
