/**
 * Reads a chat-completions request as strictly as the vendor does: the first thing wrong is answered with its message and param.
 */
import * as Predicate from "effect/Predicate"
import { readMessages } from "./chatCompletionsMessages.ts"
import { readFormat, readToolChoice, readTools } from "./chatCompletionsTools.ts"
import { Bad, invalidType, optionalBoolean, optionalNumber, optionalString, refuseUnknown, requiredModel, strictly } from "#src/simulator/formats/chatRequest.ts"
import { checkMistral, MISTRAL } from "./mistral.ts"
import type { Body, SimulatedCall } from "#src/simulator/formats/Format.ts"

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"]
const TIERS = ["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"]
const VERBOSITIES = ["low", "medium", "high"]
/** Vendor bounds. */
const MAX_N = 128
const MAX_STOPS = 4
const MAX_TOP_LOGPROBS = 20
const MAX_METADATA = 16
const MAX_BIAS = 100

const LONGEST_USER = 64
/** What the vendor's own models are called: they refuse what the vendor does not know, its compatible servers ignore it. */
const VENDOR = /^(?:gpt-(?!oss)|o\d|chatgpt-)/

const KNOWN: ReadonlySet<string> = new Set([
  "model", "messages", "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "metadata",
  "modalities", "n", "parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key", "prompt_cache_retention", "reasoning_effort",
  "response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "stream", "stream_options", "temperature", "tool_choice", "tools",
  "top_logprobs", "top_p", "user", "verbosity", "web_search_options"
])

/** A call with what only this format answers. */
export interface ChatCall extends SimulatedCall {
  /** How many alternatives each token's log probability comes with; null when none were asked for. */
  readonly logprobs: number | null
  readonly customTools: ReadonlyArray<string>
  /** Reasoning is answered as one aggregator does, with signed details. */
  readonly signedReasoning: boolean
  readonly cites: boolean
}

const readStop = (stop: unknown): ReadonlyArray<string> => {
  if (stop === undefined || stop === null) return []
  const list: unknown = Predicate.isString(stop) ? [stop] : stop
  if (!Array.isArray(list) || !list.every(Predicate.isString)) throw invalidType("stop", "one of a string or array of strings", stop)
  if (list.length > MAX_STOPS) {
    throw new Bad(`Invalid 'stop': array too long. Expected an array with maximum length ${MAX_STOPS}, but got an array with length ${list.length} instead.`, "stop", "array_above_max_length")
  }
  return list.filter((one) => one !== "")
}

/** Models of vendors that refuse past tool calls without the thoughts before them, unless they are told not to think. */
const THINKS_ALOUD = /deepseek-v4|kimi-k3/

const checkThoughts = (body: Body): void => {
  const thinking = body["thinking"]
  if (Predicate.isObject(thinking) && (thinking as Body)["type"] === "disabled") return
  for (const message of body["messages"] as ReadonlyArray<Body>) {
    if (message["role"] !== "assistant" || !Array.isArray(message["tool_calls"]) || Predicate.isString(message["reasoning_content"])) continue
    throw new Bad("The `reasoning_content` in the thinking mode must be passed back to the API.", null, "invalid_request_error")
  }
}

const checkMetadata = (body: Body, vendor: boolean): void => {
  const metadata = body["metadata"]
  if (metadata === undefined || metadata === null) return
  if (!Predicate.isObject(metadata)) throw invalidType("metadata", "an object", metadata)
  const entries = Object.entries(metadata)
  if (entries.length > MAX_METADATA) throw new Bad(`Invalid 'metadata': too many properties. Expected at most ${MAX_METADATA}.`, "metadata", "object_above_max_properties")
  for (const [key, value] of entries) if (!Predicate.isString(value)) throw invalidType(`metadata.${key}`, "a string", value)
  if (vendor && body["store"] !== true) throw new Bad("The 'metadata' parameter is only allowed when 'store' is enabled.", "metadata")
}

const checkUser = (user: unknown): void => {
  if (!Predicate.isString(user) || user.length <= LONGEST_USER) return
  throw new Bad(`Invalid 'user': string too long. Expected a string with maximum length ${LONGEST_USER}, but got a string with length ${user.length} instead.`, "user", "string_above_max_length")
}

const checkBias = (body: Body): void => {
  const bias = body["logit_bias"]
  if (bias === undefined || bias === null) return
  if (!Predicate.isObject(bias)) throw invalidType("logit_bias", "an object", bias)
  for (const [key, value] of Object.entries(bias)) {
    if (!/^\d+$/.test(key)) throw new Bad(`Invalid key in 'logit_bias': ${key}. You should only be submitting non-negative integers.`, "logit_bias")
    optionalNumber({ [`logit_bias.${key}`]: value }, `logit_bias.${key}`, -MAX_BIAS, MAX_BIAS)
  }
}

const readLogprobs = (body: Body): number | null => {
  const top = optionalNumber(body, "top_logprobs", 0, MAX_TOP_LOGPROBS, true)
  if (optionalBoolean(body, "logprobs")) return top ?? 0
  if (top !== null) throw new Bad("The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.", "top_logprobs")
  return null
}

const checkAudio = (body: Body): void => {
  const modalities: ReadonlyArray<unknown> = Array.isArray(body["modalities"]) ? body["modalities"] : []
  if (modalities.includes("audio") && !Predicate.isObject(body["audio"])) {
    throw new Bad("The 'audio' parameter is required when the 'audio' modality is requested.", "audio", "missing_required_parameter")
  }
}

/** Models that reason sample in one fixed way and count their thoughts into another limit; the others know no effort. */
const checkReasoningModel = (body: Body, model: string): void => {
  const refuse = (name: string): Bad => new Bad(`Unsupported parameter: '${name}' is not supported with this model.`, name, "unsupported_parameter")
  const said = (name: string): unknown => body[name] ?? null
  if (!/^(?:o\d|gpt-[5-9])/.test(model) || model.includes("-chat")) {
    if (said("reasoning_effort") !== null) throw refuse("reasoning_effort")
    return
  }
  if (said("max_tokens") !== null) throw refuse("max_tokens")
  if (!/^(?:o\d|gpt-5(?:$|-))/.test(model)) return
  for (const name of ["logprobs", "top_logprobs", "logit_bias"]) if (said(name) !== null) throw refuse(name)
  for (const [name, usual] of [["temperature", 1], ["top_p", 1], ["presence_penalty", 0], ["frequency_penalty", 0]] as const) {
    if (said(name) !== null && said(name) !== usual) throw new Bad(`Unsupported value: '${name}' does not support ${String(said(name))} with this model.`, name, "unsupported_value")
  }
}

const read = (body: Body): ChatCall => {
  const model = requiredModel(body)
  const vendor = VENDOR.test(model)
  const conversation = readMessages(body["messages"], vendor)
  if (THINKS_ALOUD.test(model)) checkThoughts(body)
  const stream = optionalBoolean(body, "stream")
  const options = body["stream_options"]
  let includeUsage = false
  if (options !== undefined && options !== null) {
    if (!stream) throw new Bad("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    if (!Predicate.isObject(options)) throw invalidType("stream_options", "an object", options)
    includeUsage = optionalBoolean(options, "include_usage")
  }
  if (vendor) checkReasoningModel(body, model)
  optionalNumber(body, "temperature", 0, 2)
  optionalNumber(body, "top_p", 0, 1)
  optionalNumber(body, "presence_penalty", -2, 2)
  optionalNumber(body, "frequency_penalty", -2, 2)
  optionalNumber(body, "seed", Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, true)
  optionalString(body, "reasoning_effort", EFFORTS)
  const tier = optionalString(body, "service_tier", TIERS)
  optionalString(body, "verbosity", VERBOSITIES)
  for (const name of ["user", "safety_identifier", "prompt_cache_key"]) optionalString(body, name)
  if (vendor) checkUser(body["user"])
  optionalBoolean(body, "store")
  checkMetadata(body, vendor)
  checkBias(body)
  checkAudio(body)
  const logprobs = readLogprobs(body)
  const older = optionalNumber(body, "max_tokens", 1, Number.MAX_SAFE_INTEGER, true)
  const newer = optionalNumber(body, "max_completion_tokens", 1, Number.MAX_SAFE_INTEGER, true)
  if (older !== null && newer !== null) {
    throw new Bad("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.", "max_tokens")
  }
  const { custom, tools } = readTools(body, vendor)
  if (optionalBoolean(body, "parallel_tool_calls") && tools.length === 0) {
    throw new Bad("Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.", "parallel_tool_calls")
  }
  const toolChoice = readToolChoice(body["tool_choice"], tools)
  if (MISTRAL.test(model)) checkMistral(body)
  if (vendor) refuseUnknown(body, KNOWN, "")
  return {
    model,
    stream,
    n: optionalNumber(body, "n", 1, MAX_N, true) ?? 1,
    includeUsage,
    maxTokens: newer ?? older,
    stop: readStop(body["stop"]),
    lastUserText: conversation.lastUserText,
    toolResult: conversation.toolResult,
    tools,
    toolChoice,
    json: readFormat(body),
    promptTokens: conversation.tokens,
    ...(tier === null || tier === "auto" ? {} : { serviceTier: tier }),
    logprobs,
    customTools: custom,
    signedReasoning: Predicate.isObject(body["reasoning"]),
    cites: body["web_search_options"] !== undefined && body["web_search_options"] !== null
  }
}

export const readChatRequest = strictly(read)
