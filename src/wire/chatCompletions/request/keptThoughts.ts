/**
 * The thoughts of past tool calls, for models whose vendors refuse such a turn without them. Clients of most formats and SDKs drop
 * them: they come from memory, else an empty text stands in their place, which the vendors accept. Pure.
 */
import type { Conversation } from "#schemas/wire/conversation.ts"
import { plainReasoning, reasoningPart } from "#src/wire/chatCompletions/reasoning.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Lists from "#src/wire/json/lists.ts"
import type * as Splice from "#src/wire/json/splice.ts"

/** The thoughts that came with a call; null when they are not known. */
export type Recall = (callId: string) => string | null

type Body = Readonly<Record<string, unknown>>

const firstKnown = (ids: ReadonlyArray<unknown>, recall: Recall): string | null => {
  for (const id of ids) {
    const known = typeof id === "string" ? recall(id) : null
    if (known !== null) return known
  }
  return null
}

/** Turns that called tools and hold no thoughts get those that are known. */
export const ofConversation = (conversation: Conversation, recall: Recall): Conversation => {
  const turns = conversation.turns.map((turn) => {
    if (turn.role !== "assistant" || turn.parts.some((part) => part.kind === "reasoning" && part.text !== "")) return turn
    const known = firstKnown(turn.parts.flatMap((part) => part.kind === "toolCall" ? [part.id] : []), recall)
    return known === null ? turn : { ...turn, parts: [reasoningPart(known), ...turn.parts] }
  })
  return turns.some((turn, at) => turn !== conversation.turns[at]) ? { ...conversation, turns } : conversation
}

/** Messages that called tools and say no `reasoning_content`, with theirs. */
const replacements = (messages: unknown, recall: Recall): ReadonlyArray<Lists.Replacement> => {
  if (!Array.isArray(messages)) return []
  const found: Array<Lists.Replacement> = []
  messages.forEach((message: unknown, at) => {
    if (!Json.isRecord(message) || message["role"] !== "assistant" || typeof message["reasoning_content"] === "string") return
    const calls = message["tool_calls"]
    if (!Array.isArray(calls) || calls.length === 0) return
    const said = plainReasoning(message) || firstKnown(calls.map((call: unknown) => Json.isRecord(call) ? call["id"] : null), recall)
    found.push({ at, item: { ...message, reasoning_content: said ?? "" } })
  })
  return found
}

/** The same in a body of the format itself. */
export const ofBody = (body: Body, recall: Recall): Body => {
  const found = replacements(body["messages"], recall)
  if (found.length === 0) return body
  const messages = [...body["messages"] as ReadonlyArray<unknown>]
  for (const { at, item } of found) messages[at] = item
  return { ...body, messages }
}

/** The same as a change of the body's bytes; other messages stay as they were written. */
export const editsOf = (bytes: Buffer, body: Body, recall: Recall): ReadonlyArray<Splice.Edit> => {
  const found = replacements(body["messages"], recall)
  return found.length === 0 ? none : [{ key: "messages", value: Lists.replacedIn(bytes, body, "messages", found) }]
}

const none: ReadonlyArray<Splice.Edit> = []
