/**
 * How much a model thinks where that is not for the client to say: the model id decides before the operator's setting `thinkingBudget`,
 * which decides before the client. Over the neutral conversation; of a body in the client's own format, only the members that speak of
 * thinking change, and those that the vendor refuses beside it. Pure.
 */
import type { Target } from "#actors/request/ports/Target.ts"
import { thinkingBudgetOf } from "#schemas/words/ThinkingBudget.ts"
import { splice } from "#src/inference/conversations/ownBytes.ts"
import type { Prompt } from "#src/inference/lane/bodies/Prompt.ts"
import type { Conversation, FamilyName, Reasoning } from "#schemas/wire/conversation.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Splice from "#src/wire/json/splice.ts"
import { budgetOf } from "#src/wire/neutral/settings.ts"
import * as Thinking from "#src/wire/thinking.ts"

export { ofBody } from "#src/wire/thinking.ts"

/** `auto`: the model thinks as it does by itself; else `base` tokens, and `factor` times what the request's shape adds. */
export type ThinkingRule = { readonly mode: "auto" } | { readonly mode: "budget"; readonly base: number; readonly factor: number }

type Asked = Pick<Target, "reasoning" | "thinking">
type Body = Readonly<Record<string, unknown>>

/** What the settings say; null = as clients ask. */
export const of = (settings: ReadonlyMap<string, unknown>): ThinkingRule | null => {
  const { baseBudget, complexityMultiplier, customBudget, effortLevel, mode } = thinkingBudgetOf(settings)
  switch (mode) {
    case "passthrough": return null
    case "auto": return { mode }
    case "custom": return { mode: "budget", base: customBudget, factor: 0 }
    case "adaptive": return { mode: "budget", base: baseBudget ?? budgetOf(effortLevel), factor: complexityMultiplier }
  }
}

/** The largest budget that is asked for, tokens. */
const mostBudget = 131_072
const manyMessages = 10
const manyTools = 3
/** Characters. */
const longText = 2_000

/** Instructions are no messages. */
const addedBy = ({ tools, turns }: Conversation): number => {
  const messages = turns.filter(({ role }) => role !== "system" && role !== "developer")
  const last = messages.findLast(({ role }) => role === "user")
  const text = last === undefined ? 0 : last.parts.reduce((length, part) => part.kind === "text" ? length + part.text.length : length, 0)
  return (messages.length > manyMessages ? 0.5 : 0) + (tools.length > manyTools ? 0.5 : 0) + (text > longText ? 0.3 : 0)
}

/** A budget is only said to a model that thinks, or of which the client believes it. */
const isFor = (rule: ThinkingRule, { reasoning, thinking }: Asked, given: Reasoning | null): boolean =>
  thinking === null && (rule.mode === "auto" ? given !== null : reasoning === true || (reasoning === null && given !== null))

const reasoningOf = (rule: ThinkingRule, conversation: Conversation, family: FamilyName): Reasoning | null => {
  if (rule.mode === "auto") return null
  const given = conversation.settings.reasoning
  const budget = Math.min(mostBudget, Math.ceil(rule.base * (1 + rule.factor * addedBy(conversation))))
  // One family shows thoughts to clients that did not ask for any.
  const summary = given !== null ? given.summary : family === "generateContent" ? "omitted" : null
  return budget === 0 ? { enabled: false, effort: "none", budget: null, summary, decided: true } : { enabled: true, effort: null, budget, summary, decided: true }
}

/** The conversation as the target is asked to think about it. */
export const ofConversation = (rule: ThinkingRule | null, conversation: Conversation, target: Asked, family: FamilyName): Conversation => {
  if (target.thinking !== null) return Thinking.ofConversation(conversation, target.thinking)
  const { settings } = conversation
  return rule === null || !isFor(rule, target, settings.reasoning) ? conversation : { ...conversation, settings: { ...settings, reasoning: reasoningOf(rule, conversation, family) } }
}

/** Members of a body that the rule changes; undefined takes one away. */
export type Changes = Readonly<Record<string, unknown>>

/** Members that speak of nothing but thinking. */
const own: Readonly<Record<FamilyName, ReadonlyArray<string>>> = {
  "chat-completions": ["reasoning_effort", "reasoning", "thinking", "enable_thinking", "thinking_budget"],
  "messages": ["thinking"],
  "responses": ["reasoning"],
  "generateContent": [],
  "local-model-server": ["think"]
}

/** The member that holds it beside other things, in all its spellings, the encoder's first, and what of it speaks of thinking. */
const shared: Partial<Record<FamilyName, { readonly names: readonly [string, ...ReadonlyArray<string>]; readonly inner: ReadonlyArray<string> }>> = {
  "messages": { names: ["output_config"], inner: ["effort"] },
  "generateContent": { names: ["generationConfig", "generation_config"], inner: ["thinkingConfig", "thinking_config"] }
}

/** Members that vendors refuse beside thinking. */
const samplers = ["temperature", "top_p", "top_k"]

/** The client said something of thinking. */
const says = (family: FamilyName, body: Body): boolean => own[family].some((name) => Object.hasOwn(body, name)) ||
  (shared[family]?.names ?? []).some((name) => shared[family]?.inner.some((one) => Object.hasOwn(recordIn(body, name), one)))

const recordIn = (body: Body, name: string): Body => Json.isRecord(body[name]) ? body[name] : {}

/** The member that holds it beside other things, under the client's spelling. */
const sharedChange = (family: FamilyName, body: Body, wanted: Body): Changes => {
  const held = shared[family]
  if (held === undefined) return {}
  const { inner, names } = held
  const name = names.find((one) => Json.isRecord(body[one])) ?? names[0]
  const isInner = ([key]: readonly [string, unknown]): boolean => inner.includes(key)
  const before = Object.entries(recordIn(body, name))
  const said = Object.entries(recordIn(wanted, names[0])).filter(isInner)
  if (said.length === 0 && !before.some(isInner)) return {}
  const next = [...before.filter((member) => !isInner(member)), ...said]
  return { [name]: next.length === 0 ? undefined : Object.fromEntries(next) }
}

/**
 * What changes in a body of the client's own format; null = nothing. `written`: the whole request in the family's words as the rule says
 * it, asked for only where it says something.
 */
export const changesOf = (rule: ThinkingRule, family: FamilyName, body: Body, target: Asked, written: () => Body | null): Changes | null => {
  const said = says(family, body)
  if (rule.mode === "auto" ? !said : target.reasoning === false || (target.reasoning === null && !said)) return null
  const wanted = rule.mode === "auto" ? {} : written()
  if (wanted === null) return null
  const changes: Record<string, unknown> = {}
  for (const name of own[family]) if (Object.hasOwn(body, name) || Object.hasOwn(wanted, name)) changes[name] = wanted[name]
  Object.assign(changes, sharedChange(family, body, wanted))
  if (rule.mode === "budget") {
    const most = wanted["max_tokens"]
    if (family === "messages" && typeof most === "number" && most > Number(body["max_tokens"] ?? 0)) changes["max_tokens"] = most
    for (const name of samplers) if (Object.hasOwn(body, name) && !Object.hasOwn(wanted, name)) changes[name] = undefined
  }
  return changes
}

/** The body's bytes with the changes, and other edits; every other byte stays. */
export const inBytes = (prompt: Prompt, edits: ReadonlyArray<Splice.Edit>, changes: Changes): Uint8Array => {
  const said = Object.entries(changes).flatMap(([key, value]) => value === undefined ? [] : [{ key, value: JSON.stringify(value) }])
  const others = edits.filter(({ key }) => !Object.hasOwn(changes, key))
  const edited = asBuffer(splice(prompt, [...others, ...said]))
  return Object.entries(changes).reduce<Buffer>((left, [key, value]) => value === undefined && Object.hasOwn(prompt.parsed, key) ? Splice.remove(left, key) : left, edited)
}
