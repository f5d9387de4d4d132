/** Whole answers of the messages format, read from an upstream. */
import type { Answer, ContentPart, TextPart } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Carriers from "#src/wire/messages/carriers.ts"
import { annotationsOf } from "#src/wire/messages/citations.ts"
import { errorOf } from "#src/wire/messages/errors.ts"
import { finishOf, usageOf } from "#src/wire/messages/usage.ts"
import type { Json as Body, UpstreamCodec } from "#src/wire/WireFormat.ts"

const textAt = (value: Readonly<Record<string, unknown>>, key: string): string => typeof value[key] === "string" ? value[key] : ""

/** An error object without any content beside it; a message may hold an `error` member of its own one day. */
const failureOf = (body: Body) => body["type"] === "error" || !Array.isArray(body["content"]) ? errorOf(body) : null

export const decodeAnswer: UpstreamCodec["decodeAnswer"] = (body) => {
  const failure = failureOf(body)
  if (failure !== null) return failure
  const content = body["content"]
  if (!Array.isArray(content)) return null
  const usage = body["usage"]
  const stop = body["stop_sequence"]
  return {
    id: typeof body["id"] === "string" ? body["id"] : null,
    model: typeof body["model"] === "string" ? body["model"] : null,
    createdAt: null,
    choices: [{
      index: 0, parts: content.map(partOf), finish: finishOf(body["stop_reason"]) ?? "stop", stopSequence: typeof stop === "string" ? stop : null, logprobs: null
    }],
    usage: usageOf(usage, null),
    serviceTier: Json.isRecord(usage) && typeof usage["service_tier"] === "string" ? usage["service_tier"] : null,
    systemFingerprint: null
  } satisfies Answer
}

const partOf = (block: unknown, index: number): ContentPart => {
  const opaque: ContentPart = { kind: "opaque", format: "messages", field: `content[${index}]`, value: block, listed: "content[]", fallback: "" }
  if (!Json.isRecord(block)) return opaque
  switch (block["type"]) {
    case "text": {
      const citations = block["citations"]
      return { kind: "text", text: textAt(block, "text"), cache: null, annotations: annotationsOf(Array.isArray(citations) ? citations : null), signature: null } satisfies TextPart
    }
    case "thinking": {
      const text = textAt(block, "thinking")
      const signature = textAt(block, "signature")
      return {
        kind: "reasoning", text, summary: false, id: null, redacted: false,
        signature: signature === "" ? null : text === "" ? Carriers.ofOmitted(signature) : { family: "messages", value: signature }
      }
    }
    case "redacted_thinking":
      return { kind: "reasoning", text: "", summary: false, id: null, redacted: true, signature: { family: "messages", value: textAt(block, "data") } }
    case "tool_use": {
      const { input } = block
      return {
        kind: "toolCall", id: textAt(block, "id"), name: textAt(block, "name"), custom: false, cache: null, signature: null,
        arguments: typeof input === "string" ? input : JSON.stringify(input ?? {})
      }
    }
    default: return opaque
  }
}

/** Facts of a whole answer that is forwarded as it came; null when it is none. */
export const readAnswer: UpstreamCodec["readAnswer"] = (body) => {
  const error = failureOf(body)
  const content = body["content"]
  if (error === null && !Array.isArray(content)) return null
  return { usage: usageOf(body["usage"], null), error, outputText: () => textOf(content) }
}

const textOf = (content: unknown): string => {
  if (!Array.isArray(content)) return ""
  let text = ""
  for (const block of content) {
    if (!Json.isRecord(block)) continue
    if (block["type"] === "tool_use" || block["type"] === "server_tool_use") text += textAt(block, "name") + JSON.stringify(block["input"] ?? {})
    else text += textAt(block, "thinking") + textAt(block, "text")
  }
  return text
}
