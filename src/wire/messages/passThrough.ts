/** What a Messages body needs to be forwarded as it came: its model and stream flag edited by bytes, and what we ourselves put in taken out. */
import * as Json from "#src/wire/json/json.ts"
import { isForeign } from "#src/wire/messages/carriers.ts"
import { isMadeUp } from "#src/wire/messages/citations.ts"
import * as ContextEditing from "#src/wire/messages/contextEditing.ts"
import { defaultMaxTokens } from "#src/wire/messages/request/encodeThinking.ts"
import type * as Splice from "#src/wire/json/splice.ts"
import type { Json as Body, TargetTraits } from "#src/wire/WireFormat.ts"

export const passThroughEdits = (body: Body, traits: TargetTraits): ReadonlyArray<Splice.Edit> => {
  const edits: Array<Splice.Edit> = []
  if (body["model"] !== traits.model) edits.push({ key: "model", value: JSON.stringify(traits.model) })
  if ((body["stream"] === true) !== traits.stream) edits.push({ key: "stream", value: String(traits.stream) })
  if (body["max_tokens"] === undefined || body["max_tokens"] === null) edits.push({ key: "max_tokens", value: String(defaultMaxTokens(traits)) })
  if (traits.clears === true && body[ContextEditing.field] === undefined) edits.push({ key: ContextEditing.field, value: JSON.stringify(ContextEditing.edits) })
  const messages = body["messages"]
  // A compatible vendor may want its own unsigned thoughts back; this vendor's own models sign them all.
  const isUnread = /claude/i.test(traits.model) ? isUnsignedOrForeign : isForeignThought
  if (Array.isArray(messages) && messages.some((message) => holdsUnread(message, isUnread))) {
    const kept = messages.map((message: unknown) => cleaned(message, isUnread)).filter((message) => message !== null)
    edits.push({ key: "messages", value: JSON.stringify(kept) })
    // Budgeted thinking wants the thoughts that led to the calls that are answered now, and they are gone.
    if (Json.recordAt(body, "thinking")?.["type"] === "enabled" && answersThoughtlessCalls(kept)) {
      edits.push({ key: "thinking", value: '{"type":"disabled"}' })
    }
  }
  return edits
}

type Test = (block: unknown) => boolean

const blocksOf = (message: unknown): ReadonlyArray<unknown> => {
  if (!Json.isRecord(message) || message["role"] !== "assistant") return []
  return Array.isArray(message["content"]) ? message["content"] : []
}

/** A thought that its vendor may read unsigned, but for the empty signature that some clients write. */
const hasEmptySignature: Test = (block) => Json.isRecord(block) && block["type"] === "thinking" && block["signature"] === ""

/** Thoughts of another family's model, which earlier answers of this conversation gave to the client. */
const isForeignThought: Test = (block) =>
  Json.isRecord(block) &&
  ((block["type"] === "thinking" && isForeign(block["signature"])) || (block["type"] === "redacted_thinking" && isForeign(block["data"])))

const isUnsignedOrForeign: Test = (block) =>
  isForeignThought(block) || (Json.isRecord(block) && block["type"] === "thinking" && (block["signature"] === "" || block["signature"] === undefined))

const hasMadeUp: Test = (block) => Json.isRecord(block) && Array.isArray(block["citations"]) && block["citations"].some(isMadeUp)

const holdsUnread = (message: unknown, isUnread: Test): boolean => blocksOf(message).some((block) => isUnread(block) || hasMadeUp(block) || hasEmptySignature(block))

/** The message without what this family's vendor would refuse; null when nothing is left. */
const cleaned = (message: unknown, isUnread: Test): unknown => {
  if (!holdsUnread(message, isUnread) || !Json.isRecord(message)) return message
  const content = blocksOf(message).filter((block) => !isUnread(block)).map((block) => {
    if (hasEmptySignature(block) && Json.isRecord(block)) {
      const { signature: _, ...thought } = block
      return thought
    }
    if (!hasMadeUp(block) || !Json.isRecord(block)) return block
    const { citations, ...rest } = block
    const kept = Array.isArray(citations) ? citations.filter((one) => !isMadeUp(one)) : []
    return kept.length === 0 ? rest : { ...rest, citations: kept }
  })
  return content.length === 0 ? null : { ...message, content }
}

const answersThoughtlessCalls = (messages: ReadonlyArray<unknown>): boolean => {
  const last = messages[messages.length - 1]
  const content = Json.isRecord(last) && last["role"] === "user" ? last["content"] : null
  if (!Array.isArray(content) || !content.some((block) => Json.isRecord(block) && block["type"] === "tool_result")) return false
  const first = blocksOf(messages[messages.length - 2])[0]
  return !Json.isRecord(first) || (first["type"] !== "thinking" && first["type"] !== "redacted_thinking")
}
