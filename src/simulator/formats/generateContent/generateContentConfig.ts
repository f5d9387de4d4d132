/** generationConfig as strictly as the vendor reads it: types, ranges, and what a model's thinking can do. */
import * as Predicate from "effect/Predicate"
import type { Body, SimulatedCall } from "#src/simulator/formats/Format.ts"
import { bad, listAt, members, messageAt, numberAt, oneOf } from "./generateContentFields.ts"
import type { Address } from "./generateContentRequest.ts"
import { checkSchema, lowerTypes } from "./generateContentSchema.ts"

const CONFIG = ["maxOutputTokens", "temperature", "topP", "topK", "stopSequences", "seed", "candidateCount", "presencePenalty", "frequencyPenalty",
  "responseMimeType", "responseSchema", "responseJsonSchema", "responseLogprobs", "logprobs", "responseModalities", "thinkingConfig", "speechConfig",
  "mediaResolution", "imageConfig", "audioTimestamp", "routingConfig", "enableEnhancedCivicAnswers", "enableAffectiveDialog"]
const MIME_TYPES = ["text/plain", "application/json", "text/x.enum"]
const MAX_STOPS = 5
const INT32 = 2 ** 31

interface Config {
  readonly candidates: number
  readonly maxTokens: number | null
  readonly stop: ReadonlyArray<string>
  readonly json: SimulatedCall["json"]
}

export const readGenerationConfig = (raw: unknown, address: Address): Config => {
  const config = members(raw ?? {}, CONFIG, "generation_config")
  numberAt(config, "temperature", 0, 2)
  numberAt(config, "topP", 0, 1)
  numberAt(config, "topK", 1, INT32 - 1)
  numberAt(config, "seed", -INT32, INT32 - 1, true)
  numberAt(config, "presencePenalty", -2, 1.999999)
  numberAt(config, "frequencyPenalty", -2, 1.999999)
  const stop = listAt(config, "stopSequences", "generation_config")
  if (!stop.every(Predicate.isString)) throw bad("Invalid value at 'generation_config.stop_sequences'")
  if (stop.length > MAX_STOPS) throw bad(`* GenerateContentRequest.generation_config.stop_sequences: at most ${MAX_STOPS} stop sequences are allowed.\n`)
  if (config["responseLogprobs"] !== undefined && !Predicate.isBoolean(config["responseLogprobs"])) throw bad("Invalid value at 'generation_config.response_logprobs' (TYPE_BOOL)")
  if (numberAt(config, "logprobs", 0, 20, true) !== null && config["responseLogprobs"] !== true) throw bad("logprobs is only valid when response_logprobs is true.")
  for (const modality of listAt(config, "responseModalities", "generation_config")) {
    oneOf(modality, ["MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "AUDIO"], "generation_config.response_modalities")
  }
  checkThinking(config, address)
  return {
    candidates: numberAt(config, "candidateCount", 1, 8, true) ?? 1, maxTokens: numberAt(config, "maxOutputTokens", 1, INT32 - 1, true), stop,
    json: readJson(config)
  }
}

const readJson = (config: Body): SimulatedCall["json"] => {
  const { responseJsonSchema, responseMimeType: mime, responseSchema } = config
  if (mime !== undefined) oneOf(mime, MIME_TYPES, "generation_config.response_mime_type")
  if (responseSchema !== undefined && responseJsonSchema !== undefined) throw bad("response_schema and response_json_schema are mutually exclusive.")
  if ((responseSchema !== undefined || responseJsonSchema !== undefined) && mime !== "application/json" && mime !== "text/x.enum") {
    throw bad("* GenerateContentRequest.generation_config.response_mime_type: response_schema is only supported for application/json and text/x.enum.\n")
  }
  if (responseSchema !== undefined) checkSchema(responseSchema, "generation_config.response_schema")
  if (responseJsonSchema !== undefined && !Predicate.isObject(responseJsonSchema)) throw bad("Invalid value at 'generation_config.response_json_schema'")
  return mime === "application/json" ? { schema: lowerTypes(responseSchema ?? responseJsonSchema) } : null
}

/** Budgets in tokens: least, most, whether 0 is taken. */
const limits = (model: string): readonly [least: number, most: number, canStop: boolean] =>
  model.includes("flash-lite") ? [512, 24_576, true] : model.includes("flash") ? [0, 24_576, true] : model.includes("pro") ? [128, 32_768, false] : [0, 32_768, true]

const checkThinking = (config: Body, { generation, model }: Address): void => {
  const at = "generation_config.thinking_config"
  const thinking = members(messageAt(config, "thinkingConfig", "generation_config"), ["includeThoughts", "thinkingBudget", "thinkingLevel"], at)
  const { includeThoughts, thinkingBudget: budget, thinkingLevel: level } = thinking
  if (includeThoughts !== undefined && !Predicate.isBoolean(includeThoughts)) throw bad(`Invalid value at '${at}.include_thoughts' (TYPE_BOOL)`)
  if (budget !== undefined && level !== undefined) throw bad("You can only set only one of thinking budget and thinking level.")
  if (level !== undefined) {
    oneOf(Predicate.isString(level) ? level.toUpperCase() : level, ["THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH"], `${at}.thinking_level`)
    if (generation !== null && generation < 3) throw bad("Thinking level is not supported for this model.")
    if (/-pro\b/.test(model) && String(level).toUpperCase() === "MINIMAL") throw bad("Thinking level MINIMAL is not supported for this model.")
  }
  if (budget === undefined) return
  if (!Predicate.isNumber(budget) || !Number.isInteger(budget)) throw bad(`Invalid value at '${at}.thinking_budget' (TYPE_INT32)`)
  if (budget === 0 && includeThoughts === true) throw bad("include_thoughts is only enabled when thinking is enabled.")
  if (generation === null || generation >= 3 || budget === -1) return
  const [least, most, canStop] = limits(model)
  if (budget === 0 && !canStop) throw bad("Budget 0 is invalid. This model only works in thinking mode.")
  if (budget !== 0 && (budget < least || budget > most)) throw bad(`The thinking budget ${budget} is invalid. Please choose a value between ${least} and ${most}.`)
}
