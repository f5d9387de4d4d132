/** Readers and defaults that every request codec shares: total functions that name the client's field when it is wrong. */
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Conversation, Effort, Extra, GenerationSettings } from "#schemas/wire/conversation.ts"
import { shortened } from "#src/wire/shortIds.ts"

/** Nothing said. */
export const none: GenerationSettings = {
  maxTokens: null, temperature: null, topP: null, topK: null, minP: null, stop: null, seed: null, choices: null,
  frequencyPenalty: null, presencePenalty: null, logitBias: null, logprobs: null, topLogprobs: null, output: null, reasoning: null,
  verbosity: null, serviceTier: null, user: null, safetyIdentifier: null, promptCacheKey: null, metadata: null, store: null,
  parallelToolCalls: null, modalities: null
}

/** A shape the client got wrong: 400 with `param`. Codecs throw it inside `reading` and nowhere else. */
export const invalid = (param: string, message: string): PublicError => Errors.make("bad_request", message, { extra: { param } })

/** A field that the target cannot say and without which the answer would be another one: 400 that names it. */
export const unsayable = (param: string, why: string, more?: Extra["refusal"]): PublicError =>
  Errors.make("capability_unsupported", `Field '${param}' cannot be sent to this model: ${why}`, { extra: { param, ...more } })

/** Why an essential field is refused. */
const refusal = ({ field, holdsMessages, refusal: more }: Extra, why: string): PublicError =>
  unsayable(field, holdsMessages === true ? "the messages that it stands for are not stored here. Send all messages, and leave it out." : why, more)

/** The refusal of a field that stands for messages; null where all are there. */
export const missingMessages = ({ extras }: Conversation): PublicError | null => {
  const found = extras.find(({ holdsMessages, weight }) => holdsMessages === true && weight === "essential")
  return found === undefined ? null : refusal(found, "")
}

/** Runs a reader that throws a `PublicError` at the first mistake. */
export const reading = <A>(read: () => A): A | PublicError => {
  try {
    return read()
  } catch (error) {
    if (error instanceof PublicError) return error
    throw error
  }
}

/** What was left out, in the client's own field names, each once and in order. */
export class Omitted {
  private readonly noted = new Set<string>()

  get fields(): ReadonlyArray<string> {
    return [...this.noted]
  }

  add(field: string): void {
    this.noted.add(field)
  }

  /** Leaves out every hint of the client's own format and refuses the first essential field. */
  extras(extras: ReadonlyArray<Extra>, why: string): void {
    for (const extra of extras) {
      if (extra.weight === "essential") throw refusal(extra, why)
      this.add(extra.field)
    }
  }
}

/** What each client format calls a neutral setting: for messages about it and for the list of what was left out. */
const names: Readonly<Record<Conversation["format"], Partial<Record<keyof GenerationSettings, string>>>> = {
  "chat-completions": {
    maxTokens: "max_completion_tokens", topP: "top_p", topK: "top_k", minP: "min_p", choices: "n", frequencyPenalty: "frequency_penalty",
    presencePenalty: "presence_penalty", logitBias: "logit_bias", topLogprobs: "top_logprobs", output: "response_format",
    reasoning: "reasoning_effort", serviceTier: "service_tier", safetyIdentifier: "safety_identifier", promptCacheKey: "prompt_cache_key",
    parallelToolCalls: "parallel_tool_calls"
  },
  "completions": {
    maxTokens: "max_tokens", topP: "top_p", choices: "n", frequencyPenalty: "frequency_penalty", presencePenalty: "presence_penalty",
    logitBias: "logit_bias", topLogprobs: "logprobs"
  },
  "messages": {
    maxTokens: "max_tokens", topP: "top_p", topK: "top_k", stop: "stop_sequences", output: "output_config.format", reasoning: "thinking",
    serviceTier: "service_tier", user: "metadata.user_id", parallelToolCalls: "tool_choice.disable_parallel_tool_use"
  },
  "responses": {
    maxTokens: "max_output_tokens", topP: "top_p", topLogprobs: "top_logprobs", output: "text.format", verbosity: "text.verbosity",
    serviceTier: "service_tier", safetyIdentifier: "safety_identifier", promptCacheKey: "prompt_cache_key", parallelToolCalls: "parallel_tool_calls"
  },
  "generateContent": {
    maxTokens: "generationConfig.maxOutputTokens", temperature: "generationConfig.temperature", topP: "generationConfig.topP",
    topK: "generationConfig.topK", stop: "generationConfig.stopSequences", seed: "generationConfig.seed",
    choices: "generationConfig.candidateCount", frequencyPenalty: "generationConfig.frequencyPenalty",
    presencePenalty: "generationConfig.presencePenalty", logprobs: "generationConfig.responseLogprobs", topLogprobs: "generationConfig.logprobs",
    output: "generationConfig.responseSchema", reasoning: "generationConfig.thinkingConfig", modalities: "generationConfig.responseModalities"
  },
  "local-model-server": {
    maxTokens: "options.num_predict", temperature: "options.temperature", topP: "options.top_p", topK: "options.top_k", minP: "options.min_p",
    stop: "options.stop", seed: "options.seed", frequencyPenalty: "options.frequency_penalty", presencePenalty: "options.presence_penalty",
    output: "format", reasoning: "think", topLogprobs: "top_logprobs"
  }
}

/** The client's own name of a setting. */
export const nameOf = (conversation: Conversation, setting: keyof GenerationSettings): string =>
  (setting === "maxTokens" ? conversation.limitName : undefined) ?? names[conversation.format][setting] ?? setting.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const efforts: ReadonlyArray<Effort> = ["none", "minimal", "low", "medium", "high", "xhigh", "max"]

/** The effort that a client's word stands for; null for none, and for a word that only its vendor knows. */
export const effortIn = (word: string | null | undefined): Effort | null => efforts.find((effort) => effort === word) ?? null

/** Notes a value that only its vendor knows: it may be left out, and the client is informed. */
export const noteUnknown = (extras: Array<Extra>, field: string, word: string | null | undefined, known: unknown): void => {
  if (word !== null && word !== undefined && known === null) extras.push({ field, weight: "hint", value: word })
}

/** Most characters that the vendor of chat completions and responses takes of a user's id; messages clients send twice as many. */
const longestUser = 64

/** The user's id for that vendor; null when none was given. */
export const userFor = (conversation: Conversation, omitted: Omitted): string | null => {
  const { user } = conversation.settings
  if (user === null || user.length <= longestUser) return user
  omitted.add(`${nameOf(conversation, "user")} (shortened)`)
  return shortened(user, longestUser)
}

const verbosities: ReadonlySet<string> = new Set(["low", "medium", "high"])

/** The verbosity for a target: a word that only the client's vendor knows goes to its own format alone. */
export const verbosityFor = (conversation: Conversation, format: Conversation["format"], omitted: Omitted): string | null => {
  const { verbosity } = conversation.settings
  if (verbosity === null || conversation.format === format || verbosities.has(verbosity)) return verbosity
  omitted.add(nameOf(conversation, "verbosity"))
  return null
}

/** Budget of thinking tokens for an effort; 0 switches thinking off. */
export const budgetOf = (effort: Effort): number => {
  switch (effort) {
    case "none": return 0
    case "minimal":
    case "low": return 1024
    case "medium": return 10_240
    case "high":
    case "xhigh":
    case "max": return 131_072
  }
}

/** The effort that a budget of thinking tokens stands for. */
export const effortOf = (budget: number): Effort =>
  budget === 0 ? "none" : budget < 0 ? "medium" : budget <= 1024 ? "low" : budget <= 10_240 ? "medium" : budget < 131_072 ? "high" : "xhigh"

/** The effort as a model of the vendor of chat completions and responses takes it: its first ones know neither `none` nor `minimal`, gpt-5 no `none`, none `max`. */
export const effortFor = (model: string, effort: Effort): Effort => {
  const name = model.slice(model.lastIndexOf("/") + 1)
  const word = effort === "max" ? "xhigh" : effort
  if (/^o\d/.test(name)) return word === "none" || word === "minimal" ? "low" : word === "xhigh" ? "high" : word
  if (/^gpt-5(?:$|-)/.test(name)) return word === "none" ? "minimal" : word === "xhigh" ? "high" : word
  return word
}
