/** A client's chat messages as neutral turns. */
import * as WireChatCompletions from "#schemas/wire/chatCompletions.ts"
import type { CacheControl, MediaPart, ContentPart, ReasoningPart, Signature, TextPart, ToolCallPart, ToolResultPart, Turn } from "#schemas/wire/conversation.ts"
import { readAnnotations } from "#src/wire/chatCompletions/annotations.ts"
import * as Media from "./media.ts"
import { readReasoning, reasoningPart, thoughtSignature } from "#src/wire/chatCompletions/reasoning.ts"
import * as Json from "#src/wire/json/json.ts"
import { hasOnly } from "#src/wire/neutral/decoding.ts"
import { hostedText, isHosted } from "#src/wire/neutral/hostedText.ts"
import { invalid } from "#src/wire/neutral/settings.ts"

const noAnnotations: TextPart["annotations"] = []

const plainText = (text: string): TextPart => ({ kind: "text", text, cache: null, annotations: noAnnotations, signature: null })

export const textPart = (text: string, more: Partial<TextPart> | null = null): TextPart => more === null ? plainText(text) : { ...plainText(text), ...more }

export const turnsOf = (messages: ReadonlyArray<WireChatCompletions.Message>): ReadonlyArray<Turn> => {
  const calls = { legacy: new LegacyCalls(), nameless: new NamelessCalls() }
  return messages.map((message, i): Turn => {
    const path = `messages[${i}]`
    switch (message.role) {
      case "system":
      case "developer":
        return { role: message.role, parts: instructions(message.content, path), name: message.name ?? null, path }
      case "user":
        return { role: "user", parts: userParts(message.content, path), name: message.name ?? null, path }
      case "assistant":
        return { role: "assistant", parts: assistantParts(message, path, calls, i), name: message.name ?? null, path }
      case "tool":
        return { role: "tool", parts: [toolResult(calls.nameless.answered(message.tool_call_id), message.name ?? null, message.content ?? "", cacheOf(message), `${path}.content`)], name: null, path }
      case "function":
        return { role: "tool", parts: [toolResult(calls.legacy.take(message.name), message.name, message.content ?? "", null, `${path}.content`)], name: null, path }
    }
  })
}

/** Calls that some clients send with an empty id: joined to results with such an id in their order. */
class NamelessCalls {
  private open: Array<string> = []

  /** The calls of a new turn: those before it are answered or never will be. */
  begin(): void {
    if (this.open.length > 0) this.open = []
  }

  idOf(id: string, at: number, index: number): string {
    if (id !== "") return id
    const made = `call_message_${at}_${index}`
    this.open.push(made)
    return made
  }

  /** Empty, which no call is, when no call waits for a result. */
  answered(id: string): string {
    return id !== "" ? id : this.open.shift() ?? ""
  }
}

/** Calls of the format before `tool_calls`, which have no id: joined by name, newest call first. */
class LegacyCalls {
  private readonly ids = new Map<string, string>()

  add(name: string, at: number): string {
    const id = `call_message_${at}`
    this.ids.set(name, id)
    return id
  }

  take(name: string): string {
    return this.ids.get(name) ?? `call_of_${name}`
  }
}

const cacheOf = (part: { readonly cache_control?: { readonly ttl?: string | null | undefined } | null | undefined }): CacheControl | null =>
  part.cache_control === undefined || part.cache_control === null ? null : { ttl: part.cache_control.ttl ?? null }

/** A part of a type that this gateway does not know; only the model's own may be left out. */
const opaque = (value: WireChatCompletions.OtherPart, path: string, role: "assistant" | "user"): ContentPart => {
  const { type } = value
  const text = value["text"]
  const fallback = typeof text === "string" ? text : role === "assistant" || isHosted(type) ? hostedText(type, value) : null
  return { kind: "opaque", format: "chat-completions", field: path, value, listed: `messages[].content[].${type.slice(0, 64)}`, fallback }
}

const wrongPart = (path: string, type: string, where: string) =>
  invalid(`${path}.type`, `Field '${path}.type': a part of type '${type}' cannot stand in ${where}.`)

const instructions = (content: WireChatCompletions.Content, path: string): ReadonlyArray<ContentPart> =>
  typeof content === "string" ? [textPart(content)] : content.map((part, i) => {
    const at = `${path}.content[${i}]`
    if (!WireChatCompletions.isKnownPart(part)) return opaque(part, at, "user")
    if (part.type === "text") return textPart(part.text, { cache: cacheOf(part) })
    throw wrongPart(at, part.type, "a system or developer message")
  })

const userParts = (content: WireChatCompletions.Content, path: string): ReadonlyArray<ContentPart> =>
  typeof content === "string" ? [textPart(content)] : content.map((part, i) => userPart(part, `${path}.content[${i}]`))

const userPart = (part: WireChatCompletions.Part, path: string): ContentPart => {
  if (!WireChatCompletions.isKnownPart(part)) return opaque(part, path, "user")
  if (part.type === "refusal" || part.type === "thinking") throw wrongPart(path, part.type, "a user message")
  return contentPart(part, path)
}

type Given = Exclude<WireChatCompletions.KnownPart, { readonly type: "refusal" | "thinking" }>

/** A part that says the same in a user's message and in a tool's result. */
const contentPart = (part: Given, path: string): TextPart | MediaPart => {
  const cache = cacheOf(part)
  switch (part.type) {
    case "text":
      return textPart(part.text, { cache })
    case "image_url": {
      const inText = typeof part.image_url === "string"
      const source = Media.sourceOfUrl(typeof part.image_url === "string" ? part.image_url : part.image_url.url, inText ? `${path}.image_url` : `${path}.image_url.url`)
      const detail = typeof part.image_url === "string" ? null : part.image_url.detail ?? null
      return Media.media(Media.kindOf(source, "image"), source, { detail, cache })
    }
    case "input_audio":
      return Media.media("audio", audioSource(part.input_audio, `${path}.input_audio`), { cache })
    case "audio_url":
      return Media.media("audio", Media.sourceOfUrl(part.audio_url.url, `${path}.audio_url.url`), { cache })
    case "video_url":
      return Media.media("video", Media.sourceOfUrl(part.video_url.url, `${path}.video_url.url`), { cache })
    case "file":
      return fileOf(part.file, cache, `${path}.file`)
  }
}

const audioSource = (audio: { readonly data: string; readonly format: string }, path: string): MediaPart["source"] => {
  const uri = Media.parseDataUri(audio.data)
  if (uri !== null) return uri
  const data = Media.base64Of(audio.data)
  if (data === null) throw invalid(`${path}.data`, `Field '${path}.data' must be base64.`)
  return { kind: "base64", mediaType: Media.audioTypeOf(audio.format), data, checked: true }
}

interface WireFile {
  readonly file_data?: string | null | undefined
  readonly file_id?: string | null | undefined
  readonly filename?: string | null | undefined
}

const fileOf = (file: WireFile, cache: CacheControl | null, path: string): MediaPart => {
  const name = file.filename ?? null
  if (typeof file.file_id === "string") {
    return Media.media("document", { kind: "file", family: "chat-completions", id: file.file_id, mediaType: null }, { name, cache })
  }
  if (typeof file.file_data !== "string") throw invalid(path, `Field '${path}' must have 'file_data' or 'file_id'.`)
  const data = Media.base64Of(file.file_data)
  const source: MediaPart["source"] = data === null
    ? Media.sourceOfUrl(file.file_data, `${path}.file_data`)
    : { kind: "base64", mediaType: Media.typeOfFileName(name ?? ""), data, checked: true }
  return Media.media(Media.kindOf(source, "document"), source, { name, cache })
}

const toolResult = (id: string, name: string | null, content: WireChatCompletions.Content, cache: CacheControl | null, path: string): ToolResultPart => {
  const parts = typeof content === "string" ? (content === "" ? [] : [textPart(content)]) : content.map((part, i) => {
    // What a tool gave is for the model to read, whatever its type.
    if (!WireChatCompletions.isKnownPart(part)) return textPart(hostedText(part.type, part))
    if (part.type === "refusal" || part.type === "thinking") throw wrongPart(`${path}[${i}]`, part.type, "a tool's result")
    return contentPart(part, `${path}[${i}]`)
  })
  return { kind: "toolResult", id, name, content: parts, isError: false, cache }
}

interface PastCalls {
  readonly legacy: LegacyCalls
  readonly nameless: NamelessCalls
}

const assistantParts = (message: WireChatCompletions.AssistantMessage, path: string, { legacy, nameless }: PastCalls, at: number): ReadonlyArray<ContentPart> => {
  const { content } = message
  // Nearly all of a long conversation.
  if (typeof content === "string" && content !== "" && hasOnly(message, "role", "content")) return [textPart(content)]
  const parts: Array<ContentPart> = [...readReasoning(message)]
  if (typeof content === "string") {
    if (content !== "") parts.push(textPart(content))
  } else content?.forEach((part, i) => parts.push(...assistantPart(part, `${path}.content[${i}]`)))
  annotate(parts, message)
  if (typeof message.refusal === "string" && message.refusal !== "") parts.push({ kind: "refusal", text: message.refusal })
  if (message.audio) parts.push(Media.media("audio", { kind: "file", family: "chat-completions", id: message.audio.id, mediaType: null }))
  message.images?.forEach((image, i) => parts.push(contentPart(image, `${path}.images[${i}]`)))
  nameless.begin()
  message.tool_calls?.forEach((call, i) => parts.push(toolCall(call, nameless.idOf(call.id, at, i), `${path}.tool_calls[${i}]`)))
  if (message.function_call) {
    const { name } = message.function_call
    parts.push(callPart(legacy.add(name, at), name, message.function_call.arguments ?? ""))
  }
  if (parts.length > 0) return signCalls(parts)
  if (content === undefined || content === null) {
    throw invalid(`${path}.content`, `Field '${path}.content' must be a string or an array of parts when the message calls no tool.`)
  }
  return [textPart("")]
}

/** Details under the id of a call are that call's signature. */
const signCalls = (parts: ReadonlyArray<ContentPart>): ReadonlyArray<ContentPart> => {
  const signatures = new Map<string, Signature>()
  for (const part of parts) if (isDetail(part)) signatures.set(part.id, part.signature)
  if (signatures.size === 0) return parts
  const signed = new Set<string>()
  const out = parts.map((part) => {
    if (part.kind !== "toolCall" || signed.has(part.id)) return part
    const signature = signatures.get(part.id)
    if (signature === undefined) return part
    signed.add(part.id)
    return { ...part, signature: part.signature ?? signature }
  })
  return out.filter((part) => !isDetail(part) || !signed.has(part.id))
}

const isDetail = (part: ContentPart): part is ReasoningPart & { readonly id: string; readonly signature: Signature } =>
  part.kind === "reasoning" && part.text === "" && part.id !== null && part.signature !== null

const assistantPart = (part: WireChatCompletions.Part, path: string): ReadonlyArray<ContentPart> => {
  if (!WireChatCompletions.isKnownPart(part)) return [opaque(part, path, "assistant")]
  switch (part.type) {
    case "refusal":
      return [{ kind: "refusal", text: part.refusal }]
    case "thinking": {
      const text = typeof part.thinking === "string" ? part.thinking : part.thinking.map((piece) => piece.text ?? "").join("")
      return text === "" ? [] : [reasoningPart(text)]
    }
    default:
      return [contentPart(part, path)]
  }
}

/** Citations and the signature of the text belong to its last part. */
const annotate = (parts: Array<ContentPart>, message: WireChatCompletions.AssistantMessage): void => {
  const annotations = readAnnotations(message.annotations)
  const signature = thoughtSignature(message.extra_content)
  if (annotations.length === 0 && signature === null) return
  const last = parts.findLastIndex((part) => part.kind === "text")
  const text = parts[last]
  if (text?.kind === "text") parts[last] = { ...text, annotations, signature }
}

const callPart = (id: string, name: string, args: string, more: Partial<ToolCallPart> = {}): ToolCallPart => ({
  kind: "toolCall", id, name, arguments: args, custom: false, cache: null, signature: null, ...more
})

const toolCall = (call: WireChatCompletions.ToolCall, id: string, path: string): ToolCallPart => {
  const signature = thoughtSignature(call.extra_content)
  if (call.type === "custom") {
    if (!call.custom) throw invalid(`${path}.custom`, `Field '${path}.custom' must be an object with a name and an input.`)
    return callPart(id, call.custom.name, call.custom.input, { custom: true, signature })
  }
  if (!call.function) throw invalid(`${path}.function`, `Field '${path}.function' must be an object with a name and arguments.`)
  const args = call.function.arguments ?? ""
  return callPart(id, call.function.name, typeof args === "string" ? args : JSON.stringify(args), { signature })
}

const known: ReadonlySet<string> = new Set([
  "role", "content", "name", "refusal", "reasoning_content", "reasoning", "reasoning_details", "tool_calls", "function_call", "annotations",
  "audio", "images", "extra_content", "tool_call_id", "cache_control"
])

/** Members of messages that this gateway does not know, each name once. */
export const unknownMembers = (messages: unknown): ReadonlyArray<string> => {
  const found = new Set<string>()
  if (Array.isArray(messages)) {
    for (const message of messages) {
      if (!Json.isRecord(message)) continue
      const isPlain: boolean = hasOnly(message, "role", "content")
      if (isPlain) continue
      for (const key in message) if (!known.has(key) && message[key] !== null && message[key] !== undefined) found.add(`messages[].${key.slice(0, 64)}`)
    }
  }
  return [...found]
}
