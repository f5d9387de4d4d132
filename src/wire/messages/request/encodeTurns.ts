/** Neutral turns as the system text and messages of a Messages request. */
import type { CacheControl, Conversation, MediaPart, ContentPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart, Turn } from "#schemas/wire/conversation.ts"
import type { JsonWriter } from "#src/wire/json/JsonWriter.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Carriers from "#src/wire/messages/carriers.ts"
import { isMadeUp } from "#src/wire/messages/citations.ts"
import { isBlank } from "#src/wire/neutral/foreign.ts"
import { invalid, missingMessages, type Omitted, unsayable } from "#src/wire/neutral/settings.ts"

/** What the encoders of one request share. */
export interface TurnContext {
  readonly conversation: Conversation
  readonly omitted: Omitted
  readonly json: JsonWriter
  /** The model takes system messages between the others. */
  readonly systemMessages: boolean
  /** Ids the vendor would refuse, and what stands for them. */
  readonly ids: Map<string, string>
}

/** A block, or plain text and nothing else: how that is written depends on its neighbours. */
type Block = object | string

interface Message {
  readonly role: "user" | "assistant" | "system"
  readonly blocks: Array<Block>
}

const cacheControl = (cache: CacheControl) => ({ type: "ephemeral", ...(cache.ttl === null ? {} : { ttl: cache.ttl }) })

const cacheField = (cache: CacheControl | null) => cache === null ? {} : { cache_control: cacheControl(cache) }

const valueOf = (one: Block): object => typeof one === "string" ? { type: "text", text: one } : one

/** Null for an empty text and one of white space alone, which the vendor refuses. */
const textBlock = (text: string, part: TextPart | null, omitted: Omitted): Block | null => {
  if (isBlank(text)) {
    if (part !== null && part.cache !== null) omitted.add("cache_control")
    return null
  }
  if (part === null || (part.annotations.length === 0 && part.cache === null)) return text
  const citations = part.annotations.flatMap((one) => one.native?.format === "messages" && !isMadeUp(one.native.value) ? [one.native.value] : [])
  const { cache } = part
  if (citations.length === 0 && cache === null) return text
  return { type: "text", text, ...(citations.length === 0 ? {} : { citations }), ...cacheField(cache) }
}

const imageTypes = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"])
const unreadable = "the messages format reads JPEG, PNG, GIF and WebP images, PDF and text documents."

const imageSource = (part: MediaPart, path: string) => {
  const { source } = part
  switch (source.kind) {
    case "base64": {
      const type = source.mediaType.toLowerCase() === "image/jpg" ? "image/jpeg" : source.mediaType.toLowerCase()
      if (!imageTypes.has(type)) throw unsayable(path, unreadable)
      return { type: "base64", media_type: type, data: source.data }
    }
    case "url": return { type: "url", url: source.url }
    case "file":
      if (source.family !== "messages") throw unsayable(path, "the file lies in another vendor's store.")
      return { type: "file", file_id: source.id }
    case "text": throw unsayable(path, unreadable)
  }
}

const documentSource = (part: MediaPart, path: string) => {
  const { source } = part
  switch (source.kind) {
    case "base64": {
      const type = source.mediaType.toLowerCase()
      if (type === "application/pdf") return { type: "base64", media_type: type, data: source.data }
      if (!type.startsWith("text/") && type !== "application/json") throw unsayable(path, unreadable)
      return { type: "text", media_type: "text/plain", data: Buffer.from(source.data, "base64").toString("utf8") }
    }
    case "text": return { type: "text", media_type: "text/plain", data: source.text }
    case "url":
    case "file": return imageSource(part, path)
  }
}

const mediaBlock = (part: MediaPart, path: string, at: TurnContext): Block => {
  if (part.detail !== null && part.detail !== "auto") at.omitted.add("detail")
  switch (part.kind) {
    case "image": return { type: "image", source: imageSource(part, path), ...cacheField(part.cache) }
    case "document":
      return {
        type: "document", source: documentSource(part, path),
        ...(part.name === null ? {} : { title: part.name }),
        ...(part.context === null ? {} : { context: part.context }),
        ...(part.citations === null ? {} : { citations: { enabled: part.citations } }),
        ...cacheField(part.cache)
      }
    case "audio":
    case "video": throw unsayable(path, `the messages format takes no ${part.kind}.`)
  }
}

/** Null when the thoughts are not this family's own: the vendor reads nothing without its signature. */
const reasoningBlock = (part: ReasoningPart, at: TurnContext): Block | null => {
  const { signature } = part
  if (signature === null || signature.family !== "messages") return null
  const omitted = Carriers.omittedOf(signature)
  if (omitted !== null) return { type: "thinking", thinking: "", signature: omitted }
  // In a messages request, text may be empty without being redacted; elsewhere only redacted thinking has no text.
  if (part.redacted || (part.text === "" && at.conversation.format !== "messages")) return { type: "redacted_thinking", data: signature.value }
  return { type: "thinking", thinking: part.text, signature: signature.value }
}

/** The vendor takes letters, digits, `_` and `-`; other ids are rewritten the same way for a call and its result. */
const idFor = (id: string, at: TurnContext): string => {
  if (/^[a-zA-Z0-9_-]+$/.test(id)) return id
  let found = at.ids.get(id)
  if (found === undefined) {
    found = `toolu_${at.ids.size}_${id.replace(/[^a-zA-Z0-9_-]/g, "_")}`
    at.ids.set(id, found)
  }
  return found
}

/** JSON text of an object for `input`: the arguments as they stand when they are one. */
export const inputJson = (call: Pick<ToolCallPart, "arguments" | "custom">, lost: () => void): string => {
  if (call.custom) return JSON.stringify({ input: call.arguments })
  if (call.arguments.trim() === "") return "{}"
  if (Json.parseRecord(call.arguments) !== null) return call.arguments
  lost()
  return JSON.stringify({ arguments: call.arguments })
}

const toolNames = /^[a-zA-Z0-9_-]{1,128}$/

export const checkedName = (name: string, field: string): string => {
  if (!toolNames.test(name)) throw unsayable(field, `the tool name '${name.slice(0, 64)}' has characters other than letters, digits, '_' and '-', or is too long.`)
  return name
}

/** Members that are undefined are not written. */
const cacheOf = (cache: CacheControl | null): object | undefined => cache === null ? undefined : cacheControl(cache)

const callBlock = (part: ToolCallPart, path: string, at: TurnContext): Block => ({
  type: "tool_use", id: idFor(part.id, at), name: checkedName(part.name, path),
  input: part.object ?? at.json.text(inputJson(part, () => at.omitted.add(`${path} (arguments that are no JSON object)`))), cache_control: cacheOf(part.cache)
})

const resultBlock = (part: ToolResultPart, path: string, at: TurnContext): Block => {
  const blocks: Array<Block> = []
  for (const inner of part.content) {
    const made = inner.kind === "text" ? textBlock(inner.text, inner, at.omitted) : mediaBlock(inner, path, at)
    if (made !== null) blocks.push(made)
  }
  return {
    type: "tool_result", tool_use_id: idFor(part.id, at), content: blocks.length === 0 ? undefined : plainOf(blocks) ?? blocks.map(valueOf),
    is_error: part.isError ? true : undefined, cache_control: cacheOf(part.cache)
  }
}

const blockOf = (part: ContentPart, turn: Turn, at: TurnContext): Block | null => {
  switch (part.kind) {
    case "text": return textBlock(part.text, part, at.omitted)
    case "refusal": return textBlock(part.text, null, at.omitted)
    case "reasoning": return reasoningBlock(part, at)
    case "toolCall": return callBlock(part, turn.path, at)
    case "toolResult": return resultBlock(part, turn.path, at)
    case "opaque": return part.value as object
    default:
      if (turn.role === "assistant") throw unsayable(turn.path, "an assistant's message holds no media in the messages format.")
      return mediaBlock(part, turn.path, at)
  }
}

/**
 * An answer to be continued, and the call of tools whose results the model has not answered, begin with this family's own thinking (a
 * rule of budgeted thinking). What the user said behind the results stands in their message.
 */
export const mayThink = (turns: ReadonlyArray<Turn>, at: TurnContext): boolean => {
  const caller = turns.findLastIndex((turn) => turn.role === "assistant" && turn.parts.some((part) => isSaid(part, at)))
  const isLast = turns.findLastIndex((turn, i) => i === caller || turn.role === "user" || turn.role === "tool") === caller
  if (caller === -1 || (!isLast && !turns.some((turn, i) => i > caller && turn.role === "tool"))) return true
  for (const part of turns[caller]!.parts) {
    if (part.kind === "reasoning") {
      if (reasoningBlock(part, at) !== null) return true
    } else if (part.kind !== "text" || !isBlank(part.text)) return false
  }
  return false
}

/** A turn without such a part is left out. */
const isSaid = (part: ContentPart, at: TurnContext): boolean =>
  part.kind === "text" ? !isBlank(part.text) : part.kind !== "reasoning" || reasoningBlock(part, at) !== null

/** Instructions go into the system prompt, save those that a messages client put between its messages where the model takes them. */
const isPrompt = (turn: Turn, at: TurnContext): boolean =>
  turn.role === "developer" || (turn.role === "system" && (!at.systemMessages || at.conversation.format !== "messages" || !turn.path.startsWith("messages")))

/** The blocks of the system prompt; `instruction` is appended to it. */
const systemOf = (turns: ReadonlyArray<Turn>, at: TurnContext, instruction: string | null): ReadonlyArray<object> => {
  const texts: Array<TextPart> = []
  for (const turn of turns) {
    if (!isPrompt(turn, at)) continue
    if (turn.name !== null) at.omitted.add(`${turn.path}.name`)
    for (const part of turn.parts) {
      if (part.kind !== "text") throw unsayable(turn.path, "a system prompt holds text only.")
      if (!isBlank(part.text)) texts.push(part)
    }
  }
  const keepsBlocks = at.conversation.format === "messages" || texts.some((part) => part.cache !== null)
  if (keepsBlocks) return [...texts.map((part) => textBlock(part.text, part, at.omitted)), instruction === null ? null : textBlock(instruction, null, at.omitted)].flatMap((one) => one === null ? [] : [valueOf(one)])
  // Without cache marks all instructions become one text.
  const joined = [...texts.map((part) => part.text), ...(instruction === null ? [] : [instruction])].join("\n")
  return joined === "" ? [] : [{ type: "text", text: joined }]
}

export interface EncodedTurns {
  /** Null for none. */
  readonly system: ReadonlyArray<object> | null
  readonly messages: ReadonlyArray<object>
}

/** Null for anything but one plain text. */
const plainOf = (blocks: ReadonlyArray<Block>): string | null => {
  const [only] = blocks
  return blocks.length === 1 && typeof only === "string" ? only : null
}

/** A list of one is made as such: one that grows takes room for seventeen. */
const blocksOf = (turn: Turn, at: TurnContext): Array<Block> => {
  const blocks: Array<Block> = []
  for (const part of turn.parts) {
    const made = blockOf(part, turn, at)
    if (made === null) continue
    if (turn.parts.length === 1) return [made]
    blocks.push(made)
  }
  return blocks
}

/** The vendor refuses white space at the end of what the model is to continue; true when there was some. */
const cutEnd = (blocks: Array<Block>): boolean => {
  const end = blocks.length - 1
  const block = blocks[end]
  const text = typeof block === "string" ? block : block !== undefined && isText(block) ? block.text : ""
  const cut = text.trimEnd()
  if (cut === text) return false
  blocks[end] = typeof block === "string" ? cut : { ...block, text: cut }
  return true
}

const isText = (block: object): block is { readonly type: "text"; readonly text: string } => "type" in block && block.type === "text"

export const encodeTurns = (turns: ReadonlyArray<Turn>, at: TurnContext, instruction: string | null): EncodedTurns => {
  const messages: Array<Message> = []
  for (const turn of turns) {
    if (isPrompt(turn, at)) continue
    if (turn.name !== null) at.omitted.add(`${turn.path}.name`)
    const role = turn.role === "assistant" || turn.role === "system" ? turn.role : "user"
    const blocks = blocksOf(turn, at)
    if (blocks.length === 0) continue
    const last = messages[messages.length - 1]
    if (last !== undefined && last.role === role) for (const block of blocks) last.blocks.push(block)
    else messages.push({ role, blocks })
  }
  const last = messages[messages.length - 1]
  if (last?.role === "assistant" && cutEnd(last.blocks)) at.omitted.add(`${turns.findLast((turn) => turn.role === "assistant")?.path ?? "messages"} (white space at the end)`)
  const system = systemOf(turns, at, instruction)
  if (messages.length === 0) {
    // The vendor answers messages, not a system prompt alone.
    if (system.length === 0) throw missingMessages(at.conversation) ?? invalid(at.conversation.turns[0]?.path ?? "messages", "The request holds no text that the model could answer.")
    for (const turn of turns) at.omitted.add(`${turn.path}.role`)
    return { system: null, messages: [{ role: "user", content: system }] }
  }
  if (messages[0]!.role === "assistant") {
    at.omitted.add(`${turns.find((turn) => turn.role === "assistant")?.path ?? "messages"} (user turn added)`)
    messages.unshift({ role: "user", blocks: ["."] })
  }
  return {
    system: system.length === 0 ? null : system,
    messages: messages.map(({ blocks, role }) => ({ role, content: plainOf(blocks) ?? blocks.map(valueOf) }))
  }
}
