/** A whole chat-completions answer as a neutral one. */
import type { UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { Answer, Choice, ContentPart } from "#schemas/wire/conversation.ts"
import { readAnnotations } from "#src/wire/chatCompletions/annotations.ts"
import { errorOf, usageIn } from "#src/wire/chatCompletions/answer.ts"
import { readFinish } from "#src/wire/chatCompletions/finish.ts"
import { media } from "#src/wire/chatCompletions/request/media.ts"
import { callsOf, contentOf, imagesOf, logprobsOf, makeCallId, splitThink, stringAt } from "#src/wire/chatCompletions/request/message.ts"
import { readReasoning, reasoningPart, thoughtSignature, withoutCalls } from "#src/wire/chatCompletions/reasoning.ts"
import * as Json from "#src/wire/json/json.ts"
import type { Json as Body } from "#src/wire/WireFormat.ts"

export const decodeAnswer = (body: Body): Answer | UpstreamErrorBody | null => {
  const error = errorOf(body)
  if (error !== null) return error
  const choices = body["choices"]
  if (!Array.isArray(choices)) return null
  const id = stringAt(body, "id")
  const created = body["created"]
  return {
    id: id === "" ? null : id,
    model: stringAt(body, "model") || null,
    createdAt: typeof created === "number" ? created : null,
    choices: choices.flatMap((choice, i) => Json.isRecord(choice) ? [choiceOf(choice, i, id)] : []),
    usage: usageIn(body),
    serviceTier: stringAt(body, "service_tier") || null,
    systemFingerprint: stringAt(body, "system_fingerprint") || null
  }
}

const choiceOf = (choice: Body, at: number, answerId: string): Choice => {
  const index = typeof choice["index"] === "number" ? choice["index"] : at
  const message = Json.isRecord(choice["message"]) ? choice["message"] : { content: choice["text"] }
  const parts: Array<ContentPart> = partsOf(message)
  const refusal = stringAt(message, "refusal")
  if (refusal !== "") parts.push({ kind: "refusal", text: refusal })
  const calls = callsOf(message).filter((call) => call.name !== "")
  calls.forEach((call, i) =>
    parts.push({
      kind: "toolCall", id: call.id === "" ? makeCallId(answerId, index, i) : call.id, name: call.name, arguments: call.arguments,
      custom: call.custom, cache: null, signature: thoughtSignature(call.extra)
    })
  )
  const reason = choice["finish_reason"]
  const stopped = choice["stop_reason"]
  const finish = typeof reason === "string" && reason !== "" ? readFinish(reason, calls.length > 0, refusal !== "") : null
  const stopSequence = typeof stopped === "string" && finish === "stop" ? stopped : null
  return { index, parts, finish: stopSequence === null ? finish : "stop-sequence", stopSequence, logprobs: logprobsOf(choice["logprobs"]) }
}

const partsOf = (message: Body): Array<ContentPart> => {
  const details = message["reasoning_details"]
  const parts: Array<ContentPart> = [...readReasoning(Array.isArray(details) ? { ...message, reasoning_details: withoutCalls(details, message) } : message)]
  const said = contentOf(message["content"])
  const { text, thinking } = parts.length === 0 && said.thinking === "" ? splitThink(said.text) : said
  if (thinking !== "" && parts.length === 0) parts.push(reasoningPart(thinking))
  const audio = Json.recordAt(message, "audio")
  const spoken = text === "" && audio !== null ? stringAt(audio, "transcript") : text
  const annotations = readAnnotations(message["annotations"])
  if (spoken !== "") parts.push({ kind: "text", text: spoken, cache: null, annotations, signature: thoughtSignature(message["extra_content"]) })
  const data = audio === null ? "" : stringAt(audio, "data")
  if (data !== "") parts.push(media("audio", { kind: "base64", mediaType: "audio/wav", data }))
  for (const image of imagesOf(message)) parts.push(image)
  return parts
}
