/** Neutral turns as chat messages. */
import { hasOnly } from "#src/wire/neutral/decoding.ts"
import { soleText } from "#src/wire/neutral/foreign.ts"
import type { CacheControl, MediaPart, ContentPart, ReasoningPart, Signature, TextPart, ToolCallPart, ToolResultPart, Turn } from "#schemas/wire/conversation.ts"
import { writeAnnotation } from "#src/wire/chatCompletions/annotations.ts"
import * as Media from "./media.ts"
import type { Abilities } from "#src/wire/chatCompletions/models.ts"
import { extraContent, writeDetails } from "#src/wire/chatCompletions/reasoning.ts"
import type { Omitted } from "#src/wire/neutral/settings.ts"
import { unsayable } from "#src/wire/neutral/settings.ts"
import { ofNine, shortened } from "#src/wire/shortIds.ts"

type Out = Readonly<Record<string, unknown>>

/** Members of an assistant's message. */
interface Thoughts {
  readonly reasoning_content: string | undefined
  readonly reasoning_details: ReadonlyArray<unknown> | undefined
}

/** Writes the messages of one request; throws (inside `reading`) what the format cannot say. */
export class MessageWriter {
  private readonly can: Abilities
  private readonly omitted: Omitted

  constructor(can: Abilities, omitted: Omitted) {
    this.can = can
    this.omitted = omitted
  }

  write(turns: ReadonlyArray<Turn>): Array<Out> {
    const messages: Array<Out> = []
    for (const turn of turns) {
      switch (turn.role) {
        case "system":
        case "developer":
          messages.push(this.instructions(turn))
          break
        case "user":
          messages.push(message(turn, "user", this.content(turn.parts, turn.path)))
          break
        case "assistant":
          messages.push(this.assistant(turn))
          break
        case "tool":
          for (const result of this.results(turn)) messages.push(result)
      }
    }
    return messages
  }

  private instructions(turn: Turn): Out {
    const role = turn.role === "developer" && !this.can.developer ? "system" : turn.role
    const parts = turn.parts.map((part) => {
      if (part.kind === "text") return this.text(part)
      if (part.kind === "opaque") return part.value
      throw unsayable(turn.path, `a chat system message holds text only, not ${part.kind}.`)
    })
    const plain = plainTexts(parts)
    return { role, ...named(turn), content: plain === null ? parts : plain.join("\n") }
  }

  /** A single text is written as a string: every server takes that. */
  private content(parts: ReadonlyArray<ContentPart>, path: string): unknown {
    const text = soleText(parts)
    if (text !== null) return text
    const out = parts.flatMap((part) => this.userPart(part, path))
    const plain = plainTexts(out)
    return plain !== null && plain.length <= 1 ? plain[0] ?? "" : out
  }

  private userPart(part: ContentPart, path: string): ReadonlyArray<unknown> {
    switch (part.kind) {
      case "text":
        return [this.text(part)]
      case "image":
      case "audio":
      case "video":
      case "document":
        return this.media(part, path)
      case "opaque":
        return [part.value]
      default:
        throw unsayable(path, `a chat message of this role holds no ${part.kind} part.`)
    }
  }

  private text(part: TextPart): Out {
    return part.cache === null ? { type: "text", text: part.text } : { type: "text", text: part.text, ...this.cache(part.cache) }
  }

  private cache(cache: CacheControl | null): Out {
    if (cache === null) return {}
    if (this.can.cacheControl) return { cache_control: { type: "ephemeral", ...(cache.ttl === null ? {} : { ttl: cache.ttl }) } }
    this.omitted.add("cache_control")
    return {}
  }

  private media(part: MediaPart, path: string): ReadonlyArray<unknown> {
    if (part.citations === true) this.omitted.add("citations")
    switch (part.kind) {
      case "image": {
        const url = Media.urlOf(part.source)
        if (url === null) throw unsayable(path, "a chat image is a link or base64 data, not an uploaded file.")
        return [{ type: "image_url", image_url: { url, ...this.detail(part.detail) }, ...this.cache(part.cache) }]
      }
      case "audio":
        return [this.audio(part, path)]
      case "video": {
        const url = Media.urlOf(part.source)
        if (url === null || this.can.openai) throw unsayable(path, "the model takes no video.")
        return [{ type: "video_url", video_url: { url }, ...this.cache(part.cache) }]
      }
      case "document":
        return this.document(part, path)
    }
  }

  private detail(detail: string | null): Out {
    if (detail === null) return {}
    if (detail === "low" || detail === "high" || detail === "auto") return { detail }
    this.omitted.add("detail")
    return { detail: "high" }
  }

  private audio(part: MediaPart, path: string): unknown {
    if (part.source.kind !== "base64") throw unsayable(path, "chat audio is base64 data, not a link or an uploaded file.")
    const format = Media.audioFormatOf(part.source.mediaType)
    if (this.can.openai && format !== "wav" && format !== "mp3") throw unsayable(path, `the model takes audio as wav or mp3, not ${part.source.mediaType}.`)
    return { type: "input_audio", input_audio: { data: part.source.data, format }, ...this.cache(part.cache) }
  }

  private document(part: MediaPart, path: string): ReadonlyArray<unknown> {
    const { source } = part
    const text = textOfDocument(part)
    if (text !== null) return [this.text({ kind: "text", text, cache: part.cache, annotations: [], signature: null })]
    const context = part.context === null ? [] : [{ type: "text", text: part.context }]
    switch (source.kind) {
      case "base64":
        return [
          ...context,
          { type: "file", file: { filename: part.name ?? Media.fileNameOf(source.mediaType), file_data: Media.urlOf(source) }, ...this.cache(part.cache) }
        ]
      case "file":
        // Both formats of one vendor share its file store.
        if (source.family !== "chat-completions" && source.family !== "responses") throw unsayable(path, "the uploaded file belongs to another vendor.")
        return [...context, { type: "file", file: { file_id: source.id }, ...this.cache(part.cache) }]
      case "url":
        if (this.can.openai) throw unsayable(path, "a chat document is base64 data or an uploaded file, not a link.")
        return [...context, { type: "file", file: { ...(part.name === null ? {} : { filename: part.name }), file_data: source.url }, ...this.cache(part.cache) }]
      case "text":
        return []
    }
  }

  // ---- assistant -----------------------------------------------------------------------------------------------------------------

  private assistant(turn: Turn): Out {
    const text = soleText(turn.parts)
    if (text !== null) return message(turn, "assistant", text)
    const content: Array<unknown> = []
    const reasoning: Array<ReasoningPart> = []
    const calls: Array<Out> = []
    const images: Array<unknown> = []
    const annotations: Array<unknown> = []
    let audio: Out | undefined
    let signature: Signature | null = null
    for (const part of turn.parts) {
      switch (part.kind) {
        case "text":
          if (part.text !== "") content.push(this.text(part))
          for (const annotation of part.annotations) {
            const written = writeAnnotation(annotation)
            if (written === null) this.omitted.add("citations")
            else annotations.push(written)
          }
          signature = part.signature ?? signature
          break
        case "refusal":
          content.push(this.can.openai ? { type: "refusal", refusal: part.text } : { type: "text", text: part.text })
          break
        case "reasoning":
          reasoning.push(part)
          break
        case "toolCall":
          calls.push(this.call(part))
          break
        case "opaque":
          content.push(part.value)
          break
        case "audio":
          if (part.source.kind !== "file" || part.source.family !== "chat-completions") throw unsayable(turn.path, "a chat assistant message names earlier audio by its id only.")
          audio = { id: part.source.id }
          break
        case "image":
          if (this.can.openai) throw unsayable(turn.path, "a chat assistant message holds no image.")
          images.push(...this.media(part, turn.path))
          break
        default:
          throw unsayable(turn.path, `a chat assistant message holds no ${part.kind}.`)
      }
    }
    const plain = plainTexts(content)
    const empty = content.length === 0
    const thoughts = this.thoughts(reasoning)
    // Members that are undefined are not written.
    return {
      role: "assistant",
      name: turn.name ?? undefined,
      content: empty ? (calls.length > 0 || audio !== undefined ? null : "") : plain === null ? content : plain.join(""),
      reasoning_content: thoughts?.reasoning_content ?? (this.can.wantsReasoning && calls.length > 0 ? "" : undefined),
      reasoning_details: thoughts?.reasoning_details,
      tool_calls: calls.length > 0 ? calls : undefined,
      annotations: annotations.length > 0 ? annotations : undefined,
      images: images.length > 0 ? images : undefined,
      audio,
      extra_content: this.can.openai || signature?.family !== "generateContent" ? undefined : extraContent(signature)
    }
  }

  /**
   * Thoughts that this family signed go back as it gave them; others as plain text where the server takes that. What no server
   * takes is left out unlisted: the model's own old thoughts are not the client's words.
   */
  private thoughts(parts: ReadonlyArray<ReasoningPart>): Thoughts | null {
    if (parts.length === 0) return null
    const isOwn = (part: ReasoningPart): boolean => part.signature?.family === "chat-completions"
    const details = parts.some(isOwn)
      ? writeDetails(parts.filter((part) => part.text !== "" || isOwn(part)), (signature) => signature.family === "chat-completions" ? signature.value : null)
      : undefined
    const text = parts.map((part) => part.text).filter((one) => one !== "").join("\n\n")
    return { reasoning_content: this.can.pastReasoning && text !== "" ? text : undefined, reasoning_details: details }
  }

  private call(part: ToolCallPart): Out {
    this.cache(part.cache)
    const id = this.callId(part.id)
    const extra = part.signature?.family === "generateContent" && !this.can.openai ? extraContent(part.signature) : undefined
    return part.custom
      ? { id, type: "custom", custom: { name: part.name, input: part.arguments }, extra_content: extra }
      : { id, type: "function", function: { name: part.name, arguments: part.arguments.trim() === "" ? "{}" : part.arguments }, extra_content: extra }
  }

  /** The vendor takes ids of 40 characters, another one those of its own form only: the same in the call and in its result. */
  private callId(id: string): string {
    return this.can.openai ? shortened(id, longestCallId) : this.can.callsOfNine ? ofNine(id) : id
  }

  // ---- tool results --------------------------------------------------------------------------------------------------------------

  /** A tool message holds text only: media of all results follow in one user message. */
  private results(turn: Turn): ReadonlyArray<Out> {
    const messages: Array<Out> = []
    const behind: Array<unknown> = []
    for (const part of turn.parts) {
      if (part.kind !== "toolResult") continue
      const [message, media] = this.result(part, turn.path)
      messages.push(message)
      if (media.length > 0) behind.push({ type: "text", text: `Result of the call ${part.id}${part.name === null ? "" : ` of ${part.name}`}:` }, ...media)
    }
    return behind.length === 0 ? messages : [...messages, { role: "user", content: behind }]
  }

  private result(part: ToolResultPart, path: string): readonly [Out, ReadonlyArray<unknown>] {
    if (part.isError) this.omitted.add("is_error")
    const text = part.cache === null ? soleText(part.content) : null
    if (text !== null) return [{ role: "tool", tool_call_id: this.callId(part.id), content: text }, []]
    const texts: Array<Out> = []
    const media: Array<unknown> = []
    for (const piece of part.content) {
      if (piece.kind === "text") {
        texts.push(this.text(piece))
        continue
      }
      const document = piece.kind === "document" ? textOfDocument(piece) : null
      if (document !== null) texts.push({ type: "text", text: document })
      else media.push(...this.media(piece, path))
    }
    // The breakpoint of the whole result stands on its last text.
    const last = texts[texts.length - 1]
    if (last === undefined) this.cache(part.cache)
    else if (part.cache !== null) texts[texts.length - 1] = { ...last, ...this.cache(part.cache) }
    const plain = plainTexts(texts)
    const content = plain === null ? texts : plain.length === 0 && media.length > 0 ? "The result follows in the next user message." : plain.join("\n")
    return [{ role: "tool", tool_call_id: this.callId(part.id), content }, media]
  }
}

const longestCallId = 40

/** Text of a document that is text: given as such, or as data of a text type. */
const textOfDocument = (part: MediaPart): string | null => {
  const { source } = part
  const text = source.kind === "text"
    ? source.text
    : source.kind === "base64" && source.mediaType.startsWith("text/") ? Buffer.from(source.data, "base64").toString("utf8") : null
  return text === null ? null : [part.name, part.context, text].filter((one) => one !== null && one !== "").join("\n\n")
}

const message = ({ name }: Turn, role: "assistant" | "user", content: unknown): Out => name === null ? { role, content } : { role, name, content }

const named = (turn: Turn): Out => turn.name === null ? {} : { name: turn.name }

/** The texts when every part is a text and nothing else, else null. */
const plainTexts = (parts: ReadonlyArray<unknown>): ReadonlyArray<string> | null => {
  const texts: Array<string> = []
  for (const part of parts) {
    if (!hasOnly(part, "type", "text") || part["type"] !== "text" || typeof part["text"] !== "string") return null
    texts.push(part["text"])
  }
  return texts
}
