/** Thinking, its budget and the token limit of a Messages request. */
import type { Conversation, Effort, Reasoning } from "#schemas/wire/conversation.ts"
import { type Capabilities, capabilitiesOf } from "#src/wire/messages/claude.ts"
import { budgetOf, effortOf, nameOf, type Omitted } from "#src/wire/neutral/settings.ts"
import type { TargetTraits } from "#src/wire/WireFormat.ts"

/** The vendor's smallest budget. */
const smallestBudget = 1024
/** Room for the answer beside the thoughts. */
const answerRoom = 8192
/** `max_tokens` is required: the least that current models can do, where nothing is known of the target. */
const unknownLimit = 32_000

export interface EncodedThinking {
  readonly thinking: object | null
  /** `output_config.effort`. */
  readonly effort: string | null
  readonly maxTokens: number
  readonly isOn: boolean
}

export interface ThinkingRequest {
  readonly conversation: Conversation
  readonly traits: TargetTraits
  readonly capabilities: Capabilities
  readonly omitted: Omitted
  /** The client forces a tool: the vendor does not think then. */
  readonly forced: boolean
  /** The conversation allows budgeted thinking now. */
  readonly mayThink: boolean
}

/** What the target can write: its own limit, else what its id says; null when nothing is known. */
export const knownLimit = (traits: TargetTraits): number | null => traits.maxOutputTokens ?? capabilitiesOf(traits.model).outputLimit

/** `max_tokens` when the client gave none. */
export const defaultMaxTokens = (traits: TargetTraits): number => knownLimit(traits) ?? unknownLimit

export const encodeThinking = (asked: ThinkingRequest): EncodedThinking => {
  const { capabilities, conversation, omitted, traits } = asked
  const { maxTokens, reasoning } = conversation.settings
  const off: EncodedThinking = { thinking: null, effort: null, maxTokens: maxTokens ?? defaultMaxTokens(traits), isOn: false }
  if (reasoning === null) return off
  const name = nameOf(conversation, "reasoning")
  const isMessages = conversation.format === "messages"
  // The effort of a messages client shapes the answer itself too, with thinking or without.
  const ownEffort = isMessages ? takenEffort(reasoning.effort, capabilities) : null
  if (isMessages && reasoning.effort !== null && ownEffort === null) omitted.add("output_config.effort")
  if (reasoning.enabled === false || (reasoning.effort === "none" && reasoning.budget === null) || reasoning.budget === 0) {
    // Models that only think adaptively do not think unless asked, and refuse the word.
    if (traits.reasoning === false || capabilities.adaptiveOnly) return { ...off, effort: ownEffort }
    return { ...off, thinking: { type: "disabled" }, effort: ownEffort }
  }
  if (reasoning.enabled !== true && (isMessages || (reasoning.effort === null && reasoning.budget === null))) return { ...off, effort: ownEffort }
  if (traits.reasoning === false || asked.forced) {
    omitted.add(name)
    return { ...off, effort: ownEffort }
  }
  const display = displayOf(reasoning, isMessages || capabilities.adaptive)
  if (isAdaptive(reasoning, asked)) {
    const said = reasoning.effort ?? (reasoning.budget !== null && reasoning.budget > 0 ? effortOf(reasoning.budget) : null)
    return { ...off, thinking: { type: "adaptive", ...display }, effort: takenEffort(said, capabilities), isOn: true }
  }
  const wanted = reasoning.budget !== null && reasoning.budget > 0 ? reasoning.budget : budgetOf(reasoning.effort ?? "medium")
  // A messages client's limit covers its thoughts: the budget gives way. Elsewhere the limit is raised.
  const fitted = !asked.mayThink ? null : isMessages && maxTokens !== null ? within(wanted, maxTokens) : fit(wanted, maxTokens, traits)
  if (fitted === null) {
    omitted.add(name)
    return { ...off, effort: ownEffort }
  }
  return { thinking: { type: "enabled", budget_tokens: fitted.budget, ...display }, effort: ownEffort, maxTokens: fitted.maxTokens, isOn: true }
}

/**
 * Adaptive for every model that knows it, unless the client gave a number that the model still takes. Of a model that is not this
 * vendor's nothing is known: it gets the adaptive word only from a client that used it.
 */
const isAdaptive = (reasoning: Reasoning, { capabilities, conversation }: ThinkingRequest): boolean => {
  if (capabilities.adaptiveOnly) return true
  const hasNumber = reasoning.budget !== null && reasoning.budget > 0
  if (capabilities.known) return capabilities.adaptive && !hasNumber
  return conversation.format === "messages" && !hasNumber
}

/** The effort in the words this model takes; null for none. */
const takenEffort = (effort: Effort | null, capabilities: Capabilities): string | null => {
  if (effort === null || effort === "none") return null
  if (effort === "minimal") return "low"
  if (!capabilities.known) return effort
  if (capabilities.effort === "none") return null
  if (effort === "xhigh" && capabilities.effort !== "xhigh") return "high"
  return effort === "max" && capabilities.effort === "high" ? "high" : effort
}

const displayOf = (reasoning: Reasoning, knows: boolean) =>
  reasoning.summary === null || !knows ? {} : { display: reasoning.summary === "omitted" ? "omitted" : "summarized" }

/** The wanted budget, or three quarters of the limit; null when that is too little to think. */
const within = (wanted: number, maxTokens: number): { readonly budget: number; readonly maxTokens: number } | null => {
  const budget = Math.max(smallestBudget, wanted < maxTokens ? wanted : Math.floor(maxTokens * 0.75))
  return budget < maxTokens ? { budget, maxTokens } : null
}

/** A budget and a limit above it, both within what the model can write; null when there is no room for any thought. */
const fit = (wanted: number, given: number | null, traits: TargetTraits): { readonly budget: number; readonly maxTokens: number } | null => {
  const ceiling = Math.max(defaultMaxTokens(traits), given ?? 0)
  const budget = Math.max(smallestBudget, wanted)
  const asked = given ?? Math.min(ceiling, budget + answerRoom)
  const maxTokens = asked > budget ? asked : Math.min(ceiling, budget + answerRoom)
  if (budget < maxTokens) return { budget, maxTokens }
  const lowered = Math.max(smallestBudget, maxTokens - answerRoom)
  return lowered < maxTokens ? { budget: lowered, maxTokens } : null
}
