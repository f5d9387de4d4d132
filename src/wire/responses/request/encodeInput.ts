/** Turns as `input` items. */
import type { Conversation, MediaPart, ContentPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart, Turn } from "#schemas/wire/conversation.ts"
import { type Omitted, unsayable } from "#src/wire/neutral/settings.ts"
import { soleText } from "#src/wire/neutral/foreign.ts"
import { annotationJson } from "#src/wire/responses/annotations.ts"
import { qualified, type QualifiedName } from "./namespaces.ts"
import { unpack } from "#src/wire/responses/reasoning.ts"

type Item = Readonly<Record<string, unknown>>

/** Longest id of a call that the vendor takes. */
const maxCallId = 64

export class InputWriter {
  readonly items: Array<Item> = []
  private readonly native: boolean
  private readonly omitted: Omitted
  /** Calls of custom tools: their results have an item type of their own. */
  private readonly custom = new Set<string>()
  /** Ids that had to be shortened. */
  private readonly short = new Map<string, string>()

  /** Namespaces of flat names. */
  private readonly qualified: ReadonlyMap<string, QualifiedName>

  constructor(conversation: Conversation, omitted: Omitted) {
    this.native = conversation.format === "responses"
    this.qualified = qualified(conversation.format === "responses" ? conversation.namespaces ?? [] : [])
    this.omitted = omitted
  }

  turn(turn: Turn): void {
    if (turn.name !== null) this.omitted.add("name")
    switch (turn.role) {
      case "tool":
        for (const part of turn.parts) {
          if (part.kind === "toolResult") this.result(part, turn.path)
        }
        return
      case "assistant":
        return this.assistant(turn)
      default: {
        const [only] = turn.parts
        // An item of this format alone stands between messages.
        if (only?.kind === "opaque" && only.field === turn.path) {
          this.items.push(only.value as Item)
          return
        }
        const content = turn.parts.length === 1 && only !== undefined ? this.input(only, turn.path) : turn.parts.flatMap((part) => this.input(part, turn.path))
        this.items.push({ type: "message", role: turn.role, content })
      }
    }
  }

  // ---- The user's side -----------------------------------------------------------------------------------------------------------------

  private input(part: ContentPart, path: string): ReadonlyArray<Item> {
    switch (part.kind) {
      case "text":
        return [part.cache === null ? { type: "input_text", text: part.text } : { type: "input_text", text: part.text, ...this.cache(part) }]
      case "image":
      case "audio":
      case "video":
      case "document":
        return this.medium(part, path)
      case "opaque":
        return [part.value as Item]
      default:
        throw unsayable(path, `a ${part.kind} has no place in a message of this role.`)
    }
  }

  private medium(part: MediaPart, path: string): ReadonlyArray<Item> {
    const { source } = part
    if (source.kind === "file" && source.family !== "responses" && source.family !== "chat-completions") {
      throw unsayable(path, "a file of another vendor cannot be read there.")
    }
    switch (part.kind) {
      case "image": {
        const own = { type: "input_image", detail: part.detail ?? "auto", ...this.cache(part) }
        if (source.kind === "file") return [{ ...own, file_id: source.id }]
        if (source.kind === "text") throw unsayable(path, "an image cannot be given as text.")
        return [{ ...own, image_url: source.kind === "url" ? source.url : dataUri(source) }]
      }
      case "audio": {
        const format = source.kind === "base64" ? audioFormats.get(source.mediaType) : undefined
        if (source.kind !== "base64" || format === undefined) throw unsayable(path, "audio must be given as base64 of wav or mp3.")
        return [{ type: "input_audio", input_audio: { data: source.data, format } }]
      }
      case "video":
        throw unsayable(path, "video is no input of the responses format.")
      case "document": {
        if (part.citations === true) this.omitted.add("citations")
        const file = { type: "input_file", ...this.document(part), ...this.cache(part) }
        return part.context === null ? [file] : [{ type: "input_text", text: part.context }, file]
      }
    }
  }

  private document(part: MediaPart): Item {
    const { name, source } = part
    switch (source.kind) {
      case "file": return { file_id: source.id }
      // A URL says the name of its file itself, and the vendor refuses both.
      case "url": return { file_url: source.url }
      case "base64": return { filename: name ?? nameOfType(source.mediaType), file_data: dataUri(source) }
      case "text": {
        const data = Buffer.from(source.text).toString("base64")
        return { filename: name ?? "document.txt", file_data: dataUri({ mediaType: source.mediaType ?? "text/plain", data }) }
      }
    }
  }

  private result(part: ToolResultPart, path: string): void {
    if (part.isError) this.omitted.add("is_error")
    if (part.cache !== null) this.omitted.add("cache_control")
    const [only] = part.content
    this.items.push({
      type: this.custom.has(part.id) ? "custom_tool_call_output" : "function_call_output",
      call_id: this.short.get(part.id) ?? part.id,
      output: part.content.length === 0
        ? ""
        : part.content.length === 1 && only!.kind === "text" && only!.cache === null
        ? only!.text
        : part.content.flatMap((one) => this.input(one, path))
    })
  }

  // ---- The assistant's side ------------------------------------------------------------------------------------------------------------

  private assistant(turn: Turn): void {
    const only = soleText(turn.parts)
    if (only !== null) {
      this.items.push({ type: "message", role: "assistant", content: [{ type: "output_text", text: only, annotations: [] }] })
      return
    }
    let content: Array<Item> = []
    const flush = (): void => {
      if (content.length > 0) this.items.push({ type: "message", role: "assistant", content })
      content = []
    }
    const lastOther = turn.parts.findLastIndex((part) => part.kind !== "reasoning")
    for (let i = 0; i < turn.parts.length; i++) {
      const part = turn.parts[i]!
      switch (part.kind) {
        case "text":
          if (part.cache !== null && !this.native) this.omitted.add("cache_control")
          content.push(outputText(part))
          break
        case "refusal":
          content.push({ type: "refusal", refusal: part.text })
          break
        case "reasoning": {
          flush()
          // The vendor refuses a reasoning item that nothing of the same turn follows.
          const item = i < lastOther ? this.thought(part, turn.parts[i + 1]) : null
          if (item !== null) this.items.push(item)
          break
        }
        case "toolCall":
          flush()
          this.call(part)
          break
        case "opaque":
          flush()
          this.items.push(part.value as Item)
          break
        case "toolResult":
          break
        default:
          throw unsayable(turn.path, `${part.kind} output of a model cannot be sent back in the responses format.`)
      }
    }
    flush()
  }

  private call(part: ToolCallPart): void {
    if (part.cache !== null) this.omitted.add("cache_control")
    let id = part.id
    if (id.length > maxCallId) {
      id = `call_${this.short.size}_${id.slice(-(maxCallId - 16))}`
      this.short.set(part.id, id)
    }
    const name = this.qualified.get(part.name) ?? { name: part.name }
    if (part.custom) {
      this.custom.add(part.id)
      this.items.push({ type: "custom_tool_call", call_id: id, ...name, input: part.arguments })
    } else this.items.push({ type: "function_call", call_id: id, ...name, arguments: part.arguments === "" ? "{}" : part.arguments })
  }

  /** Own reasoning only: an unsigned item without an id of the vendor's store is refused there. */
  private thought(part: ReasoningPart, next: ContentPart | undefined): Item | null {
    const summary = part.text === "" ? [] : [{ type: "summary_text", text: part.text }]
    if (part.signature !== null) {
      if (part.signature.family !== "responses") return null
      const { encrypted, id } = unpack(part.signature.value)
      const own = part.id ?? id
      // The reasoning itself is in the encrypted content; what others made of its text is said as the summary.
      return { type: "reasoning", ...(own === null ? {} : { id: own }), summary, encrypted_content: encrypted }
    }
    if (part.id === null || !this.native) return null
    // Text and summary of one item are two neutral parts; the second one stands for the item.
    if (next !== undefined && next.kind === "reasoning" && next.id === part.id) return null
    return part.summary || part.text === ""
      ? { type: "reasoning", id: part.id, summary }
      : { type: "reasoning", id: part.id, summary: [], content: [{ type: "reasoning_text", text: part.text }] }
  }

  private cache(part: TextPart | MediaPart): Item {
    if (part.cache === null) return {}
    if (this.native) return { prompt_cache_breakpoint: { mode: "explicit" } }
    this.omitted.add("cache_control")
    return {}
  }
}

const outputText = (part: TextPart): Item => {
  const annotations = part.annotations.map((one) => annotationJson(one, part.text.length)).filter((one): one is string => one !== null)
  return { type: "output_text", text: part.text, annotations: annotations.map((one): unknown => JSON.parse(one)) }
}

const audioFormats: ReadonlyMap<string, string> = new Map([
  ["audio/wav", "wav"], ["audio/x-wav", "wav"], ["audio/wave", "wav"], ["audio/mpeg", "mp3"], ["audio/mp3", "mp3"]
])

const dataUri = (source: { readonly mediaType: string; readonly data: string }): string => `data:${source.mediaType};base64,${source.data}`

const nameOfType = (mediaType: string): string => mediaType === "application/pdf" ? "document.pdf" : mediaType.startsWith("text/") ? "document.txt" : "document"
