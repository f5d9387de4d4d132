/** Whole answers of the generateContent format, read and written. */
import type { Choice, ContentPart } from "#schemas/wire/conversation.ts"
import { ChunkReader } from "#src/wire/generateContent/stream/ChunkReader.ts"
import { groundingText } from "#src/wire/generateContent/citations.ts"
import { argsOf } from "#src/wire/generateContent/request/encodeRequest.ts"
import { errorOf, finishWord, logprobsText, usageOf, usageText } from "#src/wire/generateContent/facts.ts"
import { mediumJson } from "#src/wire/generateContent/request/media.ts"
import * as Json from "#src/wire/json/json.ts"
import { AnswerBuilder } from "#src/wire/neutral/AnswerBuilder.ts"
import { seal } from "#src/wire/signatures.ts"
import type { EncoderOptions } from "#src/wire/stream/StreamSink.ts"
import type { ClientCodec, UpstreamCodec } from "#src/wire/WireFormat.ts"

const isAnswer = (body: Readonly<Record<string, unknown>>): boolean => Array.isArray(body["candidates"]) || Json.isRecord(body["promptFeedback"])

export const decodeAnswer: UpstreamCodec["decodeAnswer"] = (body) => {
  const error = errorOf(body)
  if (error !== null) return error
  if (!isAnswer(body)) return null
  const builder = new AnswerBuilder()
  new ChunkReader(builder).read(body)
  return builder.answer()
}

/** Facts of an answer that is forwarded as it came. */
export const readAnswer: UpstreamCodec["readAnswer"] = (body) => {
  const error = errorOf(body)
  if (error === null && !isAnswer(body)) return null
  return { usage: usageOf(body["usageMetadata"]), error, outputText: () => textOf(body["candidates"]) }
}

const textOf = (candidates: unknown): string => {
  let text = ""
  for (const candidate of Array.isArray(candidates) ? candidates : []) {
    const content = Json.isRecord(candidate) ? Json.recordAt(candidate, "content") : null
    for (const part of content !== null && Array.isArray(content["parts"]) ? content["parts"] : []) {
      if (!Json.isRecord(part)) continue
      if (typeof part["text"] === "string") text += part["text"]
      if (part["functionCall"] !== undefined) text += JSON.stringify(part["functionCall"])
    }
  }
  return text
}

export const encodeAnswer: ClientCodec["encodeAnswer"] = (answer, options) => {
  const members = [`"candidates":[${answer.choices.map(candidateOf).join(",")}]`]
  if (answer.usage !== null) members.push(`"usageMetadata":${usageText(answer.usage)}`)
  members.push(tailOf(answer.model, answer.id, options))
  return `{${members.join(",")}}`
}

/** `"modelVersion":…,"responseId":…`, the last members of every answer and chunk. */
export const tailOf = (model: string | null, id: string | null, options: EncoderOptions): string =>
  `"modelVersion":${JSON.stringify(model ?? options.model)},"responseId":${JSON.stringify(id ?? options.makeId())}`

const candidateOf = (choice: Choice): string => {
  const parts = choice.parts.flatMap(partOf)
  const members = [`"content":{"parts":[${parts.length === 0 ? '{"text":""}' : parts.join(",")}],"role":"model"}`]
  if (choice.finish !== null) members.push(`"finishReason":"${finishWord(choice.finish)}"`)
  members.push(`"index":${choice.index}`)
  const annotations = annotationsOf(choice)
  if (annotations.list.length > 0) members.push(groundingText(annotations.list, annotations.text))
  if (choice.logprobs !== null && choice.logprobs.length > 0) members.push(logprobsText(choice.logprobs))
  return `{${members.join(",")}}`
}

/** Citations with offsets in the whole text of the candidate. */
const annotationsOf = (choice: Choice) => {
  let text = ""
  const list = choice.parts.flatMap((part) => {
    if (part.kind === "refusal") text += part.text
    if (part.kind !== "text") return []
    const before = text.length
    text += part.text
    return part.annotations.map((one) => one.start === null || one.end === null ? one : { ...one, start: one.start + before, end: one.end + before })
  })
  return { list, text }
}

const sealed = (part: { readonly signature: Parameters<typeof seal>[0] | null }): string =>
  part.signature === null ? "" : `,"thoughtSignature":${JSON.stringify(seal(part.signature, "generateContent"))}`

const partOf = (part: ContentPart): ReadonlyArray<string> => {
  switch (part.kind) {
    case "text": return part.text === "" && part.signature === null ? [] : [`{"text":${JSON.stringify(part.text)}${sealed(part)}}`]
    case "refusal": return part.text === "" ? [] : [`{"text":${JSON.stringify(part.text)}}`]
    case "reasoning":
      return part.text === "" && part.signature === null ? [] : [`{"text":${JSON.stringify(part.text)},"thought":true${sealed(part)}}`]
    case "toolCall":
      return [`{"functionCall":{"id":${JSON.stringify(part.id)},"name":${JSON.stringify(part.name)},"args":${argsOf(part)}}${sealed(part)}}`]
    case "image":
    case "audio":
    case "video":
    case "document": {
      const medium = mediumJson(part)
      return medium === null ? [] : [medium]
    }
    case "opaque": return part.format === "generateContent" ? [JSON.stringify(part.value)] : []
    case "toolResult": return []
  }
}
