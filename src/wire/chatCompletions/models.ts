/**
 * What a chat-completions server takes beyond the common core, as far as the model's name tells it: the vendor of the format
 * refuses unknown members, its compatible servers mostly ignore or understand them.
 */
import type { TargetTraits } from "#src/wire/WireFormat.ts"

export interface Abilities {
  /** A model of the format's own vendor: documented members only. */
  readonly openai: boolean
  /** Knows the role `developer`. */
  readonly developer: boolean
  /** Wants `max_completion_tokens`. */
  readonly newLimit: boolean
  /** Takes `reasoning_effort`. */
  readonly effort: boolean
  /** Thinks by default, as far as is known. */
  readonly thinks: boolean
  /** Takes temperature, penalties and log probabilities. */
  readonly sampling: boolean
  /** Takes a past turn's thoughts as `reasoning_content`, unsigned. */
  readonly pastReasoning: boolean
  /** Refuses, while it thinks, a past turn that called tools and lacks its `reasoning_content`. */
  readonly wantsReasoning: boolean
  /** Has tools that take free text. */
  readonly freeform: boolean
  /** Takes nine letters and digits as the id of a call, and nothing else. */
  readonly callsOfNine: boolean
  /** Refuses every member that its vendor does not document. */
  readonly strict: boolean
  /** Honours `cache_control` on parts. */
  readonly cacheControl: boolean
}

const openai = /^(?:gpt-(?!oss)|o\d|chatgpt-|codex-|ft:gpt-)/
const openaiFreeform = /^gpt-(?:[5-9]|\d\d)/
const openaiReasoning = /^(?:o\d|gpt-(?:[5-9]|\d\d)|codex-)/
/** Reasoning models that sample in one fixed way. */
const fixed = /^(?:o\d|gpt-5(?:$|-)|codex-)/
/** Models of a vendor whose servers refuse members that they do not know; other hosts name these models behind their own prefix. */
const strict = /^(?:open-|labs-)?(?:mistral|magistral|ministral|codestral|devstral|pixtral|mixtral|voxtral)/
/**
 * Models whose vendors want the thoughts of tool calls back (api-docs.deepseek.com/guides/thinking_mode, platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model).
 * Older ones of the same vendors refuse or ignore them.
 */
const wanting = /deepseek-(?:v(?:3[.p]2|[4-9])|chat|reasoner|flash|pro)|kimi-(?:k2[.p][5-9]|k[3-9]|k2-thinking|thinking|latest|for-coding)|mimo-v[2-9]/
const thinkers = /deepseek|kimi|glm-|minimax|qwen|qwq|thinking|reason|mimo|ernie|hunyuan/

const nameOf = (model: string): string => {
  const id = model.toLowerCase()
  return id.slice(id.lastIndexOf("/") + 1)
}

/** Its vendor refuses `max_tokens`, in which thoughts would not count, and takes `max_completion_tokens`. */
export const wantsNewLimit = (model: string): boolean => openaiReasoning.test(nameOf(model))

export const abilitiesOf = (traits: TargetTraits): Abilities => {
  const name = nameOf(traits.model)
  const isOpenai = openai.test(name)
  const isControlled = traits.reasoningControl !== undefined && traits.reasoningControl !== null
  const isReasoning = openaiReasoning.test(name) && !name.includes("-chat")
  return {
    openai: isOpenai,
    developer: traits.developerRole ?? isOpenai,
    newLimit: openaiReasoning.test(name),
    effort: isControlled || (isOpenai ? isReasoning : traits.reasoning !== false),
    thinks: isControlled || (traits.reasoning ?? (isReasoning || thinkers.test(name))),
    sampling: !fixed.test(name) || name.includes("-chat"),
    pastReasoning: !isOpenai && !strict.test(name) && (traits.reasoning ?? thinkers.test(name)),
    wantsReasoning: wantsReasoning(traits.model),
    freeform: openaiFreeform.test(name),
    callsOfNine: strict.test(name),
    strict: strict.test(traits.model.toLowerCase()),
    cacheControl: name.includes("claude")
  }
}

/** What is known of the models that are asked, which are few. */
const known = new Map<string, boolean>()
const keptModels = 1_000

/** Whether a model of this name refuses calls whose thoughts did not come back. */
export const wantsReasoning = (model: string): boolean => {
  const said = known.get(model)
  if (said !== undefined) return said
  const wants = wanting.test(nameOf(model))
  if (known.size < keptModels) known.set(model, wants)
  return wants
}
