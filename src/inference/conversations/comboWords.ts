/** What a combo changes in what its requests say: the tools that a model sees, and the system message. */
import type { Combo } from "#schemas/records/Combo.ts"
import type { Conversation, FormatName } from "#schemas/wire/conversation.ts"
import * as SystemMessage from "#src/routing/combos/systemMessage.ts"
import * as ToolFilter from "#src/routing/combos/toolFilter.ts"

export type Words = Pick<Combo, "system_message" | "tool_filter_regex">

/** The combo changes what every target is sent. */
export const isAny = (combo: Words | null): boolean =>
  combo !== null && (combo.system_message !== null || combo.tool_filter_regex !== null)

export const ofConversation = (combo: Words | null, conversation: Conversation): Conversation => {
  if (combo === null) return conversation
  const filtered = combo.tool_filter_regex === null ? conversation : ToolFilter.ofConversation(conversation, ToolFilter.keepsOf(combo.tool_filter_regex))
  return combo.system_message === null ? filtered : SystemMessage.ofConversation(filtered, combo.system_message)
}

/** The same in a body in the client's own format. */
export const ofBody = (combo: Words | null, format: FormatName, body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => {
  if (combo === null) return body
  const filtered = combo.tool_filter_regex === null ? body : ToolFilter.ofBody(format, body, ToolFilter.keepsOf(combo.tool_filter_regex))
  return combo.system_message === null ? filtered : SystemMessage.ofBody(format, filtered, combo.system_message)
}
