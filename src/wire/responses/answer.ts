/** Whole answers and usage of the responses format. */
import type { UpstreamErrorBody } from "#actors/request/ports/Face.ts"
import type { Annotation, Answer, FinishReason, ContentPart, TokenLogprob, TokenUsage } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"
import * as ServiceTier from "#src/wire/neutral/serviceTier.ts"
import { annotationOf } from "#src/wire/responses/annotations.ts"
import { text, thoughts } from "#src/wire/responses/request/decodeInput.ts"
import { errorOf } from "#src/wire/responses/errors.ts"
import { flatName } from "#src/wire/responses/request/namespaces.ts"
import { pack } from "#src/wire/responses/reasoning.ts"
import type { UpstreamCodec } from "#src/wire/WireFormat.ts"

type Value = Readonly<Record<string, unknown>>

/** Usage in the vendor's shape, or null when the value is no usage object or holds no count. */
const usageOf = (value: unknown): TokenUsage | null => {
  if (!Json.isRecord(value) || !Json.hasCount(value, "input_tokens", "output_tokens")) return null
  const input = Json.recordAt(value, "input_tokens_details") ?? {}
  const output = Json.recordAt(value, "output_tokens_details") ?? {}
  return {
    input: Json.countAt(value, "input_tokens"),
    output: Json.countAt(value, "output_tokens"),
    cacheRead: Json.countAt(input, "cached_tokens"),
    cacheCreation: Json.countAt(input, "cache_write_tokens") || Json.countAt(input, "cache_creation_tokens"),
    reasoning: Json.countAt(output, "reasoning_tokens")
  }
}

/** Usage of a response object, with its service tier. */
export const usageIn = (response: Value): TokenUsage | null => ServiceTier.served(usageOf(response["usage"]), response["service_tier"])

export const wordAt = (value: Value, key: string): string | null => {
  const word = value[key]
  return typeof word === "string" && word !== "" ? word : null
}

export const recordsAt = (value: Value, key: string): ReadonlyArray<Record<string, unknown>> => {
  const list = value[key]
  return Array.isArray(list) ? list.filter(Json.isRecord) : []
}

/** Why a response ended; null while it runs. */
export const finishOf = (response: Value, hasCalls: boolean, hasRefusal: boolean): FinishReason | null => {
  switch (response["status"]) {
    case "incomplete": return Json.recordAt(response, "incomplete_details")?.["reason"] === "content_filter" ? "content-filter" : "length"
    case "queued":
    case "in_progress": return null
    // A refusal ends like any other text.
    default: return hasCalls ? "tool-calls" : hasRefusal ? "refusal" : "stop"
  }
}

export const decodeAnswer = (body: Value): Answer | UpstreamErrorBody | null => {
  const error = errorOf(body)
  if (error !== null) return error
  if (!Array.isArray(body["output"])) return null
  const parts: Array<ContentPart> = []
  const logprobs: Array<TokenLogprob> = []
  recordsAt(body, "output").forEach((item, i) => {
    for (const part of itemParts(item, `output[${i}]`, logprobs)) parts.push(part)
  })
  return {
    id: wordAt(body, "id"),
    model: wordAt(body, "model"),
    createdAt: typeof body["created_at"] === "number" ? Math.floor(body["created_at"]) : null,
    choices: [{
      index: 0, parts, finish: finishOf(body, parts.some((part) => part.kind === "toolCall"), parts.some((part) => part.kind === "refusal")), stopSequence: null,
      logprobs: logprobs.length === 0 ? null : logprobs
    }],
    usage: usageIn(body),
    serviceTier: wordAt(body, "service_tier"),
    systemFingerprint: null
  }
}

const itemParts = (item: Value, path: string, logprobs: Array<TokenLogprob>): ReadonlyArray<ContentPart> => {
  switch (item["type"]) {
    case "message":
      return recordsAt(item, "content").map((part, i): ContentPart => {
        if (part["type"] === "refusal") return { kind: "refusal", text: wordAt(part, "refusal") ?? "" }
        if (part["type"] !== "output_text" && part["type"] !== "text") return { kind: "opaque", format: "responses", field: `${path}.content[${i}]`, value: part, listed: "output[].content[]", fallback: "" }
        for (const entry of logprobsOf(part["logprobs"])) logprobs.push(entry)
        return { ...text(wordAt(part, "text") ?? ""), annotations: annotationsOf(part) }
      })
    case "function_call":
    case "custom_tool_call": {
      const isCustom = item["type"] === "custom_tool_call"
      return [{
        kind: "toolCall", id: wordAt(item, "call_id") ?? wordAt(item, "id") ?? "", name: calledName(item), arguments: wordAt(item, isCustom ? "input" : "arguments") ?? "",
        custom: isCustom, cache: null, signature: null
      }]
    }
    case "reasoning": {
      const { content, encrypted, id, summary } = reasoningOf(item)
      return content.length + summary.length === 0 && encrypted === null ? [] : thoughts(content, summary, encrypted === null ? null : pack(id, encrypted), id)
    }
    case "image_generation_call": {
      const medium = imageOf(item)
      if (medium !== null) return [medium]
    }
  }
  return [{ kind: "opaque", format: "responses", field: path, value: item, listed: "output[]", fallback: "" }]
}

/** The name by which other formats know a called tool. */
export const calledName = (item: Value): string => {
  const name = wordAt(item, "name") ?? ""
  const namespace = wordAt(item, "namespace")
  return namespace === null ? name : flatName(namespace, name)
}

export const annotationsOf = (part: Value): ReadonlyArray<Annotation> =>
  recordsAt(part, "annotations").map(annotationOf).filter((one): one is Annotation => one !== null)

export const reasoningOf = (item: Value) => ({
  id: wordAt(item, "id"),
  content: recordsAt(item, "content").map((one) => wordAt(one, "text") ?? ""),
  summary: recordsAt(item, "summary").map((one) => wordAt(one, "text") ?? ""),
  encrypted: wordAt(item, "encrypted_content")
})

/** A generated image; null while there is none. */
export const imageOf = (item: Value): Extract<ContentPart, { readonly kind: "image" | "audio" | "video" | "document" }> | null => {
  const data = wordAt(item, "result")
  if (data === null) return null
  const mediaType = `image/${wordAt(item, "output_format") ?? "png"}`
  return { kind: "image", source: { kind: "base64", mediaType, data }, detail: null, name: null, context: null, citations: null, cache: null, signature: null }
}

/** Log probabilities, whose vocabulary is the chat format's. */
export const logprobsOf = (value: unknown): ReadonlyArray<TokenLogprob> =>
  Array.isArray(value) ? value.filter(Json.isRecord).map((entry) => ({ ...logprobOf(entry), top: recordsAt(entry, "top_logprobs").map(logprobOf) })) : []

const logprobOf = (entry: Value) => ({
  token: typeof entry["token"] === "string" ? entry["token"] : "",
  logprob: typeof entry["logprob"] === "number" ? entry["logprob"] : 0,
  bytes: Array.isArray(entry["bytes"]) ? entry["bytes"].filter((byte) => typeof byte === "number") : null
})

/** Facts of a whole answer that is forwarded as it came; null when it is none. */
export const readAnswer: UpstreamCodec["readAnswer"] = (body) => {
  const error = errorOf(body)
  if (error === null && !Array.isArray(body["output"])) return null
  return { usage: usageIn(body), error, outputText: () => recordsAt(body, "output").map(textOfItem).join("") }
}

const textOfItem = (item: Value): string => {
  const own = [...recordsAt(item, "content"), ...recordsAt(item, "summary")].map((part) => wordAt(part, "text") ?? wordAt(part, "refusal") ?? "").join("")
  return own + (wordAt(item, "name") ?? "") + (wordAt(item, "arguments") ?? wordAt(item, "input") ?? "")
}
