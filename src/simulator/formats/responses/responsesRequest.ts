/**
 * Reads a responses request as strictly as the vendor does.
 */
import * as Predicate from "effect/Predicate"
import { countTokens } from "#src/simulator/text.ts"
import { Bad, invalidType, optionalBoolean, optionalNumber, requiredModel, strictly } from "#src/simulator/formats/chatRequest.ts"
import type { Body, SimulatedCall } from "#src/simulator/formats/Format.ts"
import { invalidValue, MAX_ID, readInput, textAt, tooLong } from "./responsesInput.ts"
import { optional, readFormat, readToolChoice, readTools } from "./responsesTools.ts"

const FIELDS = new Set([
  "access_programs", "background", "client_metadata", "context_management", "conversation", "frequency_penalty", "image", "include", "input", "instructions", "max_output_tokens", "max_tool_calls", "metadata", "model",
  "moderation", "parallel_tool_calls", "presence_penalty", "previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning", "safety_identifier",
  "service_tier", "store", "stream", "stream_options", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user"
])
const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"]
const SUMMARIES = ["auto", "concise", "detailed"]
const TIERS = ["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"]
const INCLUDES = [
  "file_search_call.results", "web_search_call.results", "web_search_call.action.sources", "message.input_image.image_url", "computer_call_output.output.image_url",
  "code_interpreter_call.outputs", "reasoning.encrypted_content", "message.output_text.logprobs"
]
const TOKENS_PER_ITEM = 4
/** The vendor's least limit. */
const MIN_OUTPUT_TOKENS = 16
const MAX_METADATA = 16

/** What only this format keeps of a request, for its answer. */
export interface Own {
  readonly body: Body
  readonly custom: ReadonlySet<string>
  readonly encrypts: boolean
  readonly logprobs: boolean
  /** `POST /v1/responses/input_tokens`. */
  readonly counts: boolean
}

const owns = new WeakMap<SimulatedCall, Own>()

export const ownOf = (call: SimulatedCall): Own => owns.get(call) ?? { body: {}, custom: new Set(), encrypts: false, logprobs: false, counts: false }

const oneOf = (value: unknown, param: string, supported: ReadonlyArray<string>): void => {
  if (value === undefined || value === null) return
  if (!Predicate.isString(value) || !supported.includes(value)) throw invalidValue(param, value, supported)
}

const readMetadata = (metadata: unknown): void => {
  if (metadata === undefined || metadata === null) return
  if (!Predicate.isObject(metadata)) throw invalidType("metadata", "an object", metadata)
  const entries = Object.entries(metadata)
  if (entries.length > MAX_METADATA) throw new Bad(`Invalid 'metadata': too many properties. Expected an object with at most ${MAX_METADATA} properties, but got an object with ${entries.length} properties instead.`, "metadata", "object_above_max_properties")
  for (const [key, value] of entries) if (!Predicate.isString(value)) throw invalidType(`metadata.${key}`, "a string", value)
}

const readReasoning = (reasoning: unknown): void => {
  if (reasoning === undefined || reasoning === null) return
  if (!Predicate.isObject(reasoning)) throw invalidType("reasoning", "an object", reasoning)
  oneOf(reasoning["effort"], "reasoning.effort", EFFORTS)
  oneOf(reasoning["summary"], "reasoning.summary", SUMMARIES)
  oneOf(reasoning["generate_summary"], "reasoning.generate_summary", SUMMARIES)
}

const readInclude = (include: unknown): ReadonlyArray<string> => {
  if (include === undefined || include === null) return []
  if (!Array.isArray(include)) throw invalidType("include", "an array of strings", include)
  include.forEach((one: unknown, i) => oneOf(one, `include[${i}]`, INCLUDES))
  return include as ReadonlyArray<string>
}

const readPrevious = (body: Body): boolean => {
  const previous = body["previous_response_id"]
  const has = (field: string): boolean => body[field] !== undefined && body[field] !== null
  if (!has("previous_response_id")) return has("conversation") || has("prompt")
  if (!Predicate.isString(previous)) throw invalidType("previous_response_id", "a string", previous)
  if (!previous.startsWith("resp")) throw new Bad(`Invalid 'previous_response_id': '${previous}'. Expected an ID that begins with 'resp'.`, "previous_response_id", "invalid_value")
  if (has("conversation")) throw new Bad("Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing one of them.", null, "mutually_exclusive_parameters")
  return true
}

export const readResponsesRequest = strictly((body: Body, request): SimulatedCall => {
  const model = requiredModel(body)
  const unknown = Object.keys(body).find((field) => !FIELDS.has(field))
  if (unknown !== undefined) throw new Bad(`Unknown parameter: '${unknown}'.`, unknown, "unknown_parameter")
  const input = readInput(body["input"], readPrevious(body), body["store"] !== false)
  optional(body, "instructions", "string")
  const instructions = Predicate.isString(body["instructions"]) ? body["instructions"] : ""
  optionalNumber(body, "temperature", 0, 2)
  optionalNumber(body, "top_p", 0, 1)
  optionalNumber(body, "top_logprobs", 0, 20, true)
  optionalNumber(body, "max_tool_calls", 1, Number.MAX_SAFE_INTEGER, true)
  for (const field of ["background", "parallel_tool_calls", "store"]) optionalBoolean(body, field)
  for (const field of ["user", "safety_identifier", "prompt_cache_key"]) optional(body, field, "string")
  if (typeof body["user"] === "string" && body["user"].length > MAX_ID) throw tooLong("user", body["user"])
  oneOf(body["service_tier"], "service_tier", TIERS)
  oneOf(body["truncation"], "truncation", ["auto", "disabled"])
  readMetadata(body["metadata"])
  readReasoning(body["reasoning"])
  const include = readInclude(body["include"])
  const stream = optionalBoolean(body, "stream")
  if (body["stream_options"] !== undefined && body["stream_options"] !== null && !stream) {
    throw new Bad("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
  }
  if (body["prompt"] !== undefined && body["prompt"] !== null) textAt((body["prompt"] as Body)["id"], "prompt.id")
  const tools = readTools(body["tools"])
  const counts = request.path.endsWith("/input_tokens")
  const call: SimulatedCall = {
    model,
    stream: stream && !counts,
    n: 1,
    includeUsage: true,
    maxTokens: optionalNumber(body, "max_output_tokens", MIN_OUTPUT_TOKENS, Number.MAX_SAFE_INTEGER, true),
    stop: [],
    lastUserText: input.lastUserText,
    toolResult: input.toolResult,
    tools: tools.callable,
    toolChoice: readToolChoice(body["tool_choice"], tools),
    json: readFormat(body["text"], `${instructions}\n${input.text}`),
    promptTokens: input.tokens + (instructions === "" ? 0 : countTokens(instructions) + TOKENS_PER_ITEM)
  }
  owns.set(call, {
    body, custom: tools.custom, encrypts: include.includes("reasoning.encrypted_content"), logprobs: include.includes("message.output_text.logprobs"), counts
  })
  return call
})
