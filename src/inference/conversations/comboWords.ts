/**
 * What a combo and the gateway itself change in what requests say: the tools that a model sees, the combo's system message, and around
 * it and the client's instructions the gateway's own words.
 */
import type { Target } from "#actors/request/ports/Target.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import type { Conversation, FormatName } from "#schemas/wire/conversation.ts"
import * as SystemMessage from "#src/routing/combos/systemMessage.ts"
import * as ToolFilter from "#src/routing/combos/toolFilter.ts"
import * as ContextEditing from "#src/wire/messages/contextEditing.ts"
import * as SystemPrompt from "./words/systemPrompt.ts"

export { editsOf, type SystemPrompt, withTerse } from "./words/systemPrompt.ts"

type Body = Readonly<Record<string, unknown>>
export type Words = Pick<Combo, "system_message" | "tool_filter_regex">

/** The beta with which the target's vendor is asked to clear older results of tools; null where it cannot. A client's own wish needs the same one. */
export const clearingBeta = ({ model, wireFormat }: Pick<Target, "model" | "wireFormat">): string | null =>
  wireFormat === "messages" && ContextEditing.isKnown(model) ? ContextEditing.beta : null

/** The combo changes what every target is sent. */
export const isAny = (combo: Words | null): boolean =>
  combo !== null && (combo.system_message !== null || combo.tool_filter_regex !== null)

/** The conversation with the combo's system message and tools, then the gateway's own system prompt. */
export const ofConversation = (combo: Words | null, prompt: SystemPrompt.SystemPrompt | null, conversation: Conversation): Conversation =>
  SystemPrompt.ofConversation(prompt, comboConversation(combo, conversation))

const comboConversation = (combo: Words | null, conversation: Conversation): Conversation => {
  if (combo === null) return conversation
  const filtered = combo.tool_filter_regex === null ? conversation : ToolFilter.ofConversation(conversation, ToolFilter.keepsOf(combo.tool_filter_regex))
  return combo.system_message === null ? filtered : SystemMessage.ofConversation(filtered, combo.system_message)
}

/** The same in a body in the client's own format. */
export const ofBody = (combo: Words | null, prompt: SystemPrompt.SystemPrompt | null, format: FormatName, body: Body): Body =>
  SystemPrompt.ofBody(prompt, format, comboBody(combo, format, body))

const comboBody = (combo: Words | null, format: FormatName, body: Body): Body => {
  if (combo === null) return body
  const filtered = combo.tool_filter_regex === null ? body : ToolFilter.ofBody(format, body, ToolFilter.keepsOf(combo.tool_filter_regex))
  return combo.system_message === null ? filtered : SystemMessage.ofBody(format, filtered, combo.system_message)
}

/** All of it as one text, for a step that does not see the client's conversation; null = nothing. */
export const common = (combo: Words, prompt: SystemPrompt.SystemPrompt | null): string | null =>
  prompt === null ? combo.system_message : SystemPrompt.joined(prompt.before, combo.system_message, prompt.after)
