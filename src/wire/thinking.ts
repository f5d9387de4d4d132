/**
 * What a thinking variant of a model id does to a request: it overrides the body. Once over the neutral conversation, once over a
 * body that is forwarded in its own format.
 */
import type { ThinkingVariant } from "#actors/request/ports/Target.ts"
import type { Conversation, FamilyName, Reasoning } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"
import { budgetOf } from "#src/wire/neutral/settings.ts"
import type { Json as Body } from "#src/wire/WireFormat.ts"

/** Thinking tokens of `<model>-thinking` when the model has no default of its own. */
const defaultBudget = 10_240

const reasoningOf = (variant: ThinkingVariant, given: Reasoning | null): Reasoning => {
  const summary = given === null ? null : given.summary
  if (variant === "off" || variant === "none") return { enabled: false, effort: "none", budget: null, summary }
  if (variant === "on") return { enabled: true, effort: given?.effort ?? null, budget: given?.budget ?? defaultBudget, summary }
  return { enabled: true, effort: variant, budget: null, summary }
}

export const ofConversation = (conversation: Conversation, variant: ThinkingVariant): Conversation => ({
  ...conversation,
  settings: { ...conversation.settings, reasoning: reasoningOf(variant, conversation.settings.reasoning) }
})

/** The body with its family's own words for the variant. */
export const ofBody = (body: Body, family: FamilyName, variant: ThinkingVariant): Record<string, unknown> => {
  switch (family) {
    case "messages": return ofMessages(body, variant)
    case "chat-completions": return ofChat(body, variant)
    case "responses": return ofResponses(body, variant)
    case "generateContent": return ofGenerateContent(body, variant)
    case "local-model-server": return { ...body, think: variant === "off" ? false : variant === "on" || variant === "max" || variant === "xhigh" ? true : variant }
  }
}

const effortOf = (variant: ThinkingVariant): string | null => variant === "off" ? null : variant === "on" ? "medium" : variant

const ofMessages = (body: Body, variant: ThinkingVariant): Record<string, unknown> => {
  if (variant === "off" || variant === "none") return { ...body, thinking: { type: "disabled" } }
  const given = Json.recordAt(body, "thinking")
  if (variant === "on" && given !== null && given["type"] !== "disabled") return { ...body }
  const wanted = variant === "on" ? defaultBudget : budgetOf(variant)
  const most = typeof body["max_tokens"] === "number" ? body["max_tokens"] - 1 : wanted
  // The vendor wants at least 1,024 tokens of thinking, inside max_tokens: a small answer stays a plain one.
  return most < 1024 ? { ...body } : { ...body, thinking: { type: "enabled", budget_tokens: Math.min(wanted, most) } }
}

/** Off drops the fields rather than saying none: models differ in what they accept. */
const ofChat = (body: Body, variant: ThinkingVariant): Record<string, unknown> => {
  const { reasoning: _reasoning, reasoning_effort: given, ...rest } = body
  if (variant === "off" || variant === "none") return rest
  return { ...rest, reasoning_effort: variant === "on" && given !== undefined ? given : effortOf(variant) }
}

const ofResponses = (body: Body, variant: ThinkingVariant): Record<string, unknown> => {
  const { reasoning: given, ...rest } = body
  if (variant === "off" || variant === "none") return rest
  const said = Json.isRecord(given) ? given : {}
  return { ...rest, reasoning: { ...said, effort: variant === "on" ? said["effort"] ?? "medium" : effortOf(variant) } }
}

const ofGenerateContent = (body: Body, variant: ThinkingVariant): Record<string, unknown> => {
  const key = "generation_config" in body ? "generation_config" : "generationConfig"
  const config = Json.recordAt(body, key) ?? {}
  const budget = variant === "off" ? 0 : variant === "on" ? -1 : Math.min(budgetOf(variant), 32_768)
  return { ...body, [key]: { ...config, thinkingConfig: { thinkingBudget: budget, includeThoughts: budget !== 0 } } }
}
