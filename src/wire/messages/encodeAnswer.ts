/** A whole neutral answer as the vendor's message object. */
import type { Choice, MediaPart, ContentPart, ReasoningPart } from "#schemas/wire/conversation.ts"
import * as Carriers from "#src/wire/messages/carriers.ts"
import { citationOf } from "#src/wire/messages/citations.ts"
import { inputJson } from "#src/wire/messages/request/encodeTurns.ts"
import { stopReasonOf, wireUsage } from "#src/wire/messages/usage.ts"
import * as ServiceTier from "#src/wire/neutral/serviceTier.ts"
import * as Signatures from "#src/wire/signatures.ts"
import type { ClientCodec } from "#src/wire/WireFormat.ts"

/** The vendor's ids are kept, others are made anew in its shape. */
export const messageId = (id: string | null, makeId: () => string): string => id?.startsWith("msg_") === true ? id : `msg_${makeId()}`

export const encodeAnswer: ClientCodec["encodeAnswer"] = (answer, options) => {
  const choice = answer.choices[0]
  const calls = choice?.parts.some((part) => part.kind === "toolCall") === true
  const refused = choice?.finish === "stop" && choice.parts.some((part) => part.kind === "refusal")
  const tier = ServiceTier.messagesWord(answer.serviceTier)
  const head = JSON.stringify({ id: messageId(answer.id, options.makeId), type: "message", role: "assistant", model: answer.model ?? options.model })
  const tail = JSON.stringify({
    stop_reason: refused ? "refusal" : stopReasonOf(choice?.finish ?? null, calls),
    stop_sequence: choice?.stopSequence ?? null,
    usage: {
      ...wireUsage(answer.usage ?? { input: 0, output: 0, cacheRead: 0, cacheCreation: 0, reasoning: 0 }),
      ...(tier === null ? {} : { service_tier: tier })
    }
  })
  return `${head.slice(0, -1)},"content":[${choice === undefined ? "" : blocksOf(choice).join(",")}],${tail.slice(1)}`
}

const blocksOf = (choice: Choice): ReadonlyArray<string> => choice.parts.flatMap(blockTexts)

const carrier = (field: string): string => JSON.stringify({ type: "thinking", thinking: "", signature: field })

/** JSON texts of the blocks of one part; none for what a messages client could not read. */
const blockTexts = (part: ContentPart): ReadonlyArray<string> => {
  switch (part.kind) {
    case "text": {
      const citations = part.annotations.map(citationOf).filter((citation) => citation !== null)
      const text = JSON.stringify({ type: "text", text: part.text, ...(citations.length === 0 ? {} : { citations }) })
      return part.signature === null ? [text] : [text, carrier(Carriers.carry(part.signature, "text"))]
    }
    case "refusal": return [JSON.stringify({ type: "text", text: part.text })]
    case "reasoning": return [JSON.stringify(reasoningBlock(part))]
    case "toolCall": {
      const head = JSON.stringify({ type: "tool_use", id: part.id, name: part.name })
      const call = `${head.slice(0, -1)},"input":${inputJson(part, () => {})}}`
      return part.signature === null ? [call] : [carrier(Carriers.carry(part.signature, "call")), call]
    }
    case "image":
    case "document": {
      const block = mediaBlock(part)
      return block === null ? [] : [JSON.stringify(block)]
    }
    case "opaque": return part.format === "messages" ? [JSON.stringify(part.value)] : []
    case "audio":
    case "video":
    case "toolResult": return []
  }
}

export const reasoningBlock = (part: Pick<ReasoningPart, "text" | "signature">): object => {
  const { signature, text } = part
  if (text === "" && signature?.family === "messages") {
    const omitted = Carriers.omittedOf(signature)
    return omitted === null ? { type: "redacted_thinking", data: signature.value } : { type: "thinking", thinking: "", signature: omitted }
  }
  return { type: "thinking", thinking: text, signature: signature === null ? Signatures.unsigned : Signatures.seal(signature, "messages") }
}

/** The request's shape of a picture or document: the vendor's answers have none of their own. */
export const mediaBlock = (part: MediaPart): object | null => {
  const { source } = part
  const type = part.kind
  switch (source.kind) {
    case "base64": return { type, source: { type: "base64", media_type: source.mediaType, data: source.data } }
    case "url": return { type, source: { type: "url", url: source.url } }
    case "file": return source.family === "messages" ? { type, source: { type: "file", file_id: source.id } } : null
    case "text": return { type, source: { type: "text", media_type: "text/plain", data: source.text } }
  }
}
