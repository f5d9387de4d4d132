/** Content blocks of a client's request as neutral parts. */
import type { CacheControl, Extra, MediaPart, OpaquePart, ContentPart, ReasoningPart, Source, TextPart, ToolCallPart, ToolResultPart } from "#schemas/wire/conversation.ts"
import * as WireMessages from "#schemas/wire/messages.ts"
import * as Json from "#src/wire/json/json.ts"
import { carried } from "#src/wire/messages/carriers.ts"
import { annotationsOf } from "#src/wire/messages/citations.ts"
import { hostedText, isHosted, isSealedHistory } from "#src/wire/neutral/hostedText.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as Signatures from "#src/wire/signatures.ts"

/** What has no place in a part is noted here with its weight. */
export type Note = (extra: Extra) => void

export const cacheOf = (control: WireMessages.CacheControl | null | undefined): CacheControl | null =>
  control === null || control === undefined ? null : { ttl: control.ttl ?? null }

export const textPart = (text: string, block?: WireMessages.TextBlock): TextPart => ({
  kind: "text", text, cache: cacheOf(block?.cache_control), annotations: annotationsOf(block?.citations), signature: null
})

export const textParts = (content: string | ReadonlyArray<WireMessages.TextBlock>): ReadonlyArray<TextPart> =>
  typeof content === "string" ? [textPart(content)] : content.map((block) => textPart(block.text, block))

const media = (kind: MediaPart["kind"], source: Source, cache: CacheControl | null): MediaPart => ({
  kind, source, detail: null, name: null, context: null, citations: null, cache, signature: null
})

const sourceOf = (source: Exclude<WireMessages.DocumentBlock["source"], { readonly type: "content" }>): Source => {
  switch (source.type) {
    case "base64": return { kind: "base64", mediaType: source.media_type, data: source.data }
    case "url": return { kind: "url", url: source.url, mediaType: null }
    case "file": return { kind: "file", family: "messages", id: source.file_id, mediaType: null }
    case "text": return { kind: "text", text: source.data, mediaType: source.media_type ?? null }
  }
}

/** Null for a document with pictures among its own blocks, which no other format can say. */
const documentPart = (block: WireMessages.DocumentBlock): MediaPart | null => {
  const { source } = block
  let read: Source
  if (source.type === "content") {
    const { content } = source
    if (typeof content !== "string" && content.some((inner) => inner.type !== "text")) return null
    const text = typeof content === "string" ? content : content.map((inner) => inner.type === "text" ? inner.text : "").join("\n")
    read = { kind: "text", text, mediaType: "text/plain" }
  } else read = sourceOf(source)
  return {
    ...media("document", read, cacheOf(block.cache_control)),
    name: block.title ?? null, context: block.context ?? null, citations: block.citations?.enabled ?? null
  }
}

/** What the model reads of a search result; that it may be cited is lost. */
const searchResultText = (block: WireMessages.SearchResultBlock): string => `${block.title}\n${block.source}\n${block.content.map((inner) => inner.text).join("\n")}`

/** Blocks of a type that only this format knows. */
const opaquePart = (block: WireMessages.OtherBlock, raw: unknown, path: string, role: string): OpaquePart => ({
  kind: "opaque", format: "messages", field: path, value: raw, listed: `messages[].content[].${block.type.slice(0, 64)}`, fallback: fallbackOf(block, role)
})

const fallbackOf = (block: WireMessages.OtherBlock, role: string): string | null => {
  if (isSealedHistory(block)) return null
  // A file for the vendor's own tools, which go with it.
  if (block.type === "container_upload") return ""
  if (role === "assistant" || isHosted(block.type)) return hostedText(block.type, block)
  return typeof block["text"] === "string" ? block["text"] : null
}

const resultPart = (block: WireMessages.ResultBlock, raw: unknown, path: string, note: Note): TextPart | MediaPart => {
  switch (block.type) {
    case "text": return textPart(block.text, block)
    case "image": return media("image", sourceOf(block.source), cacheOf(block.cache_control))
    case "document": {
      const part = documentPart(block)
      if (part !== null) return part
      note({ field: `${path}.source.content`, weight: "essential", value: raw })
      return textPart("")
    }
    case "search_result":
      note({ field: `${path}.citations`, weight: "hint", value: raw })
      return textPart(searchResultText(block))
  }
}

const toolResult = (block: WireMessages.ToolResultBlock, raw: unknown, path: string, note: Note): ToolResultPart => {
  const { content } = block
  const parts: Array<TextPart | MediaPart> = []
  if (typeof content === "string") parts.push(textPart(content))
  else {
    content?.forEach((inner, i) => {
      const at = `${path}.content[${i}]`
      const rawInner = at2(raw, "content", i)
      if (WireMessages.isResultBlock(inner)) parts.push(resultPart(inner, rawInner, at, note))
      else {
        note({ field: `messages[].content[].content[].${inner.type.slice(0, 64)} (as text)`, weight: "hint", value: rawInner })
        parts.push(textPart(hostedText(inner.type, rawInner)))
      }
    })
  }
  return { kind: "toolResult", id: block.tool_use_id, name: null, content: parts, isError: block.is_error === true, cache: cacheOf(block.cache_control) }
}

/** Member `key[i]` of a value known to have been decoded. */
const at2 = (raw: unknown, key: string, i: number): unknown => {
  const list = (raw as Readonly<Record<string, unknown>>)[key]
  return (list as ReadonlyArray<unknown>)[i]
}

const assistantOnly = new Set(["thinking", "redacted_thinking", "tool_use"])

const knownPart = (block: WireMessages.KnownBlock, raw: unknown, path: string, note: Note): ContentPart => {
  switch (block.type) {
    case "text": return textPart(block.text, block)
    case "image": return media("image", sourceOf(block.source), cacheOf(block.cache_control))
    case "document":
      return documentPart(block) ?? {
        kind: "opaque", format: "messages", field: `${path}.source.content`, value: raw, listed: "messages[].content[].source.content", fallback: null
      }
    case "search_result":
      return { kind: "opaque", format: "messages", field: path, value: raw, listed: "messages[].content[].search_result", fallback: searchResultText(block) }
    case "thinking":
      return { kind: "reasoning", text: block.thinking, summary: false, signature: Signatures.open(block.signature ?? "", "messages"), id: null, redacted: false }
    case "redacted_thinking":
      return { kind: "reasoning", text: "", summary: false, signature: Signatures.open(block.data, "messages"), id: null, redacted: true }
    case "tool_use": {
      const { input } = raw as { readonly input: unknown }
      return {
        kind: "toolCall", id: block.id, name: block.name, arguments: JSON.stringify(input), object: Json.isRecord(input) ? input : undefined, custom: false,
        cache: cacheOf(block.cache_control), signature: null
      }
    }
    case "tool_result": return toolResult(block, raw, path, note)
  }
}

/** Parts of one message; `raw` is its content as the client sent it, for what is passed on unread. */
export const partsOf = (message: WireMessages.Message, raw: unknown, path: string, note: Note): ReadonlyArray<ContentPart> => {
  const { content, role } = message
  if (typeof content === "string") return [textPart(content)]
  const parts = content.map((block, i): ContentPart => {
    const at = `${path}.content[${i}]`
    const rawBlock = (raw as ReadonlyArray<unknown>)[i]
    if (!WireMessages.isKnownBlock(block)) return opaquePart(block, rawBlock, at, role)
    if (role !== "assistant" && assistantOnly.has(block.type)) {
      throw invalid(`${at}.type`, `Field '${at}.type': a '${block.type}' block may only stand in an assistant message.`)
    }
    if (role !== "user" && block.type === "tool_result") {
      throw invalid(`${at}.type`, `Field '${at}.type': a 'tool_result' block may only stand in a user message.`)
    }
    if (role === "system" && block.type !== "text") throw invalid(`${at}.type`, `Field '${at}.type': a system message holds text blocks only.`)
    return knownPart(block, rawBlock, at, note)
  })
  return role === "assistant" ? withCarried(parts) : parts
}

/** Gives signatures that travelled in a block of their own back to the call behind it or the text before it. */
const withCarried = (parts: ReadonlyArray<ContentPart>): ReadonlyArray<ContentPart> => {
  if (!parts.some((part) => part.kind === "reasoning" && carried(part.signature) !== null)) return parts
  const out: Array<ContentPart> = []
  let forCall: ReasoningPart["signature"] = null
  for (const part of parts) {
    const found = part.kind === "reasoning" ? carried(part.signature) : null
    if (found === null) {
      out.push(part.kind === "toolCall" && forCall !== null ? { ...part, signature: forCall } satisfies ToolCallPart : part)
      if (part.kind === "toolCall") forCall = null
    } else if (found.of === "call") forCall = found.signature
    else {
      const last = out[out.length - 1]
      if (last !== undefined && last.kind === "text") out[out.length - 1] = { ...last, signature: found.signature }
    }
  }
  return out
}
