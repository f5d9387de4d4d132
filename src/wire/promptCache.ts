/**
 * Breakpoints for vendors that cache a prompt only where it is marked (settings promptCacheEnabled, promptCacheStrategy and
 * alwaysPreserveClientCache). A client of such a vendor's own format sets the marks itself; for a client of another format,
 * which cannot, the gateway marks what its next request will begin with. Pure.
 */
import * as Predicate from "effect/Predicate"
import type { CacheControl, Conversation, FamilyName, ContentPart, Tool, Turn } from "#schemas/wire/conversation.ts"
import { isBlank } from "#src/wire/neutral/foreign.ts"
import type { Json } from "#src/wire/WireFormat.ts"

export interface PromptCacheRules {
  /**
   * What the gateway marks of a translated request: `auto` = tools and system prompt, and the end of a conversation that is under way;
   * `system-only` = the first of these; `manual` (and promptCacheEnabled off) = nothing.
   */
  readonly strategy: "auto" | "system-only" | "manual"
  /** The client's own marks: `auto` = they stand alone, `always` = beside the gateway's, `never` = they are taken out. */
  readonly preserve: "auto" | "always" | "never"
}

/** A shorter prefix is not cached by any of these vendors, characters. */
const shortest = 4_096
/** Marks that a request may have. */
const mostMarks = 4
const here: CacheControl = { ttl: null }

const markable = (part: ContentPart): boolean => "cache" in part && part.kind !== "toolCall" && (part.kind !== "text" || !isBlank(part.text))

const countOf = (part: ContentPart): number =>
  ("cache" in part && part.cache !== null ? 1 : 0) + (part.kind === "toolResult" ? part.content.filter(({ cache }) => cache !== null).length : 0)

const plain = (part: ContentPart): ContentPart => {
  if (part.kind === "toolResult") return { ...part, cache: null, content: part.content.map((one) => ({ ...one, cache: null })) }
  return "cache" in part ? { ...part, cache: null } : part
}

const isInstruction = ({ role }: Turn): boolean => role === "system" || role === "developer"

const marksOf = ({ tools, turns }: Conversation): number =>
  tools.filter((tool) => tool.kind === "function" && tool.cache !== null).length +
  turns.reduce((sum, { parts }) => parts.reduce((count, part) => count + countOf(part), sum), 0)

/** The same without a mark of the client's. */
const unmarked = (conversation: Conversation): Conversation => ({
  ...conversation,
  tools: conversation.tools.map((tool) => tool.kind === "function" ? { ...tool, cache: null } : tool),
  turns: conversation.turns.map((turn) => ({ ...turn, parts: turn.parts.map(plain) }))
})

const sizeOfTool = (tool: Tool): number => tool.kind === "function" ? (tool.description?.length ?? 0) + JSON.stringify(tool.parameters ?? {}).length : 0

/** Whether instructions and tools are long enough to be kept. */
const isLong = (turns: ReadonlyArray<Turn>, tools: ReadonlyArray<Tool>): boolean => {
  let size = 0
  for (const turn of turns) for (const part of turn.parts) if (part.kind === "text") size += part.text.length
  for (const tool of tools) {
    if (size >= shortest) break
    size += sizeOfTool(tool)
  }
  return size >= shortest
}

/** Index of the last part that can be marked; -1 = none. */
const lastMarkable = ({ parts }: Turn): number => parts.findLastIndex(markable)

const markTurn = (turns: ReadonlyArray<Turn>, at: number): ReadonlyArray<Turn> => turns.map((turn, i) => {
  if (i !== at) return turn
  const last = lastMarkable(turn)
  return { ...turn, parts: turn.parts.map((part, k) => k === last && "cache" in part ? { ...part, cache: here } : part) }
})

/** Tools stand before the system prompt at these vendors, so that one mark at its end covers both. */
const prefixMarked = (conversation: Conversation): Conversation => {
  const { tools, turns } = conversation
  const first = turns.findIndex((turn) => !isInstruction(turn))
  const instructions = turns.slice(0, first === -1 ? turns.length : first)
  if (!isLong(instructions, tools)) return conversation
  const at = instructions.findLastIndex((turn) => lastMarkable(turn) !== -1)
  if (at !== -1) return { ...conversation, turns: markTurn(turns, at) }
  const tool = tools.findLastIndex(({ kind }) => kind === "function")
  return { ...conversation, tools: tools.map((one, i) => i === tool && one.kind === "function" ? { ...one, cache: here } : one) }
}

/** A conversation with an answer in it continues with the next request. */
const endMarked = (conversation: Conversation): Conversation => {
  const { turns } = conversation
  const end = turns.length - 1
  const last = turns[end]
  if (last === undefined || isInstruction(last) || lastMarkable(last) !== last.parts.length - 1 || !turns.some(({ role }) => role === "assistant")) return conversation
  return isLong(turns, conversation.tools) ? { ...conversation, turns: markTurn(turns, end) } : conversation
}

/** Whether the vendors of this format cache by marks: of the chat servers those that pass them on to such a model. */
export const cachesByMarks = (family: FamilyName, model: string): boolean =>
  family === "messages" || (family === "chat-completions" && model.toLowerCase().includes("claude"))

/** The conversation for a vendor that caches by marks; `translated`: it comes from another format. */
export const arranged = (conversation: Conversation, { preserve, strategy }: PromptCacheRules, translated: boolean): Conversation => {
  const marks = marksOf(conversation)
  const own = preserve === "never" && marks > 0 ? unmarked(conversation) : conversation
  const standing = preserve === "never" ? 0 : marks
  if (!translated || strategy === "manual" || (preserve === "auto" && standing > 0) || standing >= mostMarks) return own
  const prefix = prefixMarked(own)
  return strategy === "system-only" || standing + 1 >= mostMarks ? prefix : endMarked(prefix)
}

const each = (list: unknown, change: (one: Json) => Json): unknown => Array.isArray(list) ? list.map((one: unknown) => Predicate.isReadonlyObject(one) ? change(one) : one) : list

const without = ({ cache_control: _mark, ...rest }: Json): Json => ({
  ...rest, ...(rest["content"] === undefined ? {} : { content: each(rest["content"], without) })
})

/** A body of a format that has such marks, without the client's; they stand on tools, system blocks and the parts of messages. */
export const bodyWithoutMarks = (body: Json): Json => ({
  ...body,
  ...(body["tools"] === undefined ? {} : { tools: each(body["tools"], without) }),
  ...(body["system"] === undefined ? {} : { system: each(body["system"], without) }),
  ...(body["messages"] === undefined ? {} : { messages: each(body["messages"], without) })
})
