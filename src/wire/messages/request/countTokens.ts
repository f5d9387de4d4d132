/** `POST /v1/messages/count_tokens`: the request as text to be counted, and the two replies. Pure. */
import type { PublicError } from "#schemas/errors.ts"
import type { MediaPart, ContentPart } from "#schemas/wire/conversation.ts"
import * as WireMessages from "#schemas/wire/messages.ts"
import { toolsOf, turnsOf } from "./decodeRequest.ts"
import { decoder } from "#src/wire/neutral/decoding.ts"
import { reading } from "#src/wire/neutral/settings.ts"
import type { Json as Body } from "#src/wire/WireFormat.ts"

/** What a local estimate counts: `text` by a tokenizer, and tokens that no text stands for. */
export interface Countable {
  readonly text: string
  readonly fixedTokens: number
}

/** Role and separators of one message. */
const perMessage = 4
/** The vendor's own prompt about tools, by its public table for the newer models. */
const toolPrompt = { auto: 346, forced: 313 } as const
/** An image at the size the vendor scales large ones down to: about 1.15 megapixels / 750. */
const perImage = 1533
/** One page of a PDF as text and picture, and base64 characters that make a page. */
const perPage = 2000
const pageCharacters = 100_000

const decode = decoder(WireMessages.CountRequest)

export const readCountRequest = (body: Body): Countable | PublicError => {
  const request = decode(body)
  if ("_tag" in request) return request
  return reading(() => {
    const ignore = (): void => {}
    const texts: Array<string> = []
    let fixedTokens = 0
    for (const turn of turnsOf(request, body, ignore)) {
      fixedTokens += perMessage
      for (const part of turn.parts) fixedTokens += count(part, texts)
    }
    const tools = toolsOf(request.tools, body["tools"], ignore)
    const type = request.tool_choice?.type
    if (tools.length > 0 && type !== "none") fixedTokens += type === "any" || type === "tool" ? toolPrompt.forced : toolPrompt.auto
    for (const tool of tools) {
      if (tool.kind === "function") texts.push(tool.name, tool.description ?? "", JSON.stringify(tool.parameters))
      else if (tool.kind === "hosted") texts.push(JSON.stringify(tool.value))
    }
    const format = request.output_config?.format ?? request.output_format
    if (format !== undefined && format !== null) texts.push(JSON.stringify(format.schema))
    return { text: texts.filter((text) => text !== "").join("\n"), fixedTokens }
  })
}

/** Adds the text of a part; answers what it costs beyond its text. */
const count = (part: ContentPart, texts: Array<string>): number => {
  switch (part.kind) {
    case "text":
    case "refusal":
      texts.push(part.text)
      return 0
    case "reasoning": return 0 // Thoughts of earlier turns are not counted as input by the vendor.
    case "toolCall":
      texts.push(part.name, part.arguments)
      return 0
    case "toolResult": {
      let cost = 0
      for (const inner of part.content) cost += count(inner, texts)
      return cost
    }
    case "opaque":
      texts.push(JSON.stringify(part.value))
      return 0
    default: return countMedia(part, texts)
  }
}

const countMedia = (part: MediaPart, texts: Array<string>): number => {
  if (part.name !== null) texts.push(part.name)
  if (part.context !== null) texts.push(part.context)
  const { source } = part
  if (source.kind === "text") {
    texts.push(source.text)
    return 0
  }
  if (part.kind !== "document") return perImage
  return source.kind === "base64" ? perPage * Math.max(1, Math.ceil(source.data.length / pageCharacters)) : perPage
}

export const estimatedReply = (inputTokens: number): string => JSON.stringify({ input_tokens: inputTokens, source: "estimated" })

/** `reply` is the provider's own answer; null when it names no count. */
export const providerReply = (reply: Body, model: string, provider: string): string | null => {
  const inputTokens = reply["input_tokens"]
  return typeof inputTokens === "number" ? JSON.stringify({ input_tokens: inputTokens, model, provider, source: "provider" }) : null
}
