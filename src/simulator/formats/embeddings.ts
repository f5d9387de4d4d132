/**
 * The embeddings format: `POST /v1/embeddings`. The vector of a text is a seeded function of the text, with unit length.
 */
import * as Predicate from "effect/Predicate"
import { countTokens, random } from "#src/simulator/text.ts"
import { Bad, invalidType, optionalNumber, requiredModel, strictly } from "./chatRequest.ts"
import { chatStreamError, renderChatError } from "./errors.ts"
import type { Body, SimulatedAnswer, SimulatedCall, Format } from "./Format.ts"

const DEFAULT_DIMENSIONS = 256
const MAX_DIMENSIONS = 3072
const MAX_INPUTS = 2048

const itemKeys = ["text", "image", "audio", "video", "pdf", "content"]

/** One vendor's items (https://jina.ai/embeddings): a member named by its modality, or several of them as `content`. */
const itemOf = (item: Body, i: number): string => {
  const [key, ...more] = Object.keys(item)
  if (key === undefined || more.length > 0 || !itemKeys.includes(key)) throw new Bad(`Invalid 'input[${i}]': expected one of ${itemKeys.join(", ")}.`, "input")
  const value = item[key]
  if (key === "content" && Array.isArray(value) && value.every(Predicate.isReadonlyObject)) return value.map(itemOf).join("\n")
  if (typeof value !== "string" || value === "") throw invalidType(`input[${i}].${key}`, "a string", value)
  return value
}

const readInputs = (input: unknown): ReadonlyArray<string> => {
  if (input === undefined) throw new Bad("Missing required parameter: 'input'.", "input", "missing_required_parameter")
  if (Predicate.isString(input)) return [input]
  if (!Array.isArray(input)) throw invalidType("input", "one of a string or array of strings", input)
  if (input.length === 0 || input.length > MAX_INPUTS) {
    throw new Bad(`Invalid 'input': expected an array with 1 to ${MAX_INPUTS} entries, but got ${input.length} instead.`, "input")
  }
  if (input.every(Predicate.isString)) return input
  if (input.every(Predicate.isReadonlyObject)) return input.map(itemOf)
  // Token arrays: one text of numbers, or several.
  if (input.every(Predicate.isNumber)) return [input.join(" ")]
  return input.map((one: unknown, i) => {
    if (!Array.isArray(one) || !one.every(Predicate.isNumber)) throw invalidType(`input[${i}]`, "a string or array of integers", one)
    return one.join(" ")
  })
}

const read = strictly((body): SimulatedCall => {
  const model = requiredModel(body)
  const inputs = readInputs(body["input"])
  const encoding = body["encoding_format"]
  if (encoding !== undefined && encoding !== "float" && encoding !== "base64") {
    throw new Bad(`Invalid value: '${String(encoding)}'. Supported values are: 'float', 'base64'.`, "encoding_format", "invalid_value")
  }
  return {
    model,
    stream: false,
    n: 1,
    includeUsage: false,
    maxTokens: null,
    stop: [],
    lastUserText: "",
    toolResult: null,
    tools: [],
    toolChoice: "none",
    json: null,
    promptTokens: inputs.reduce((sum, text) => sum + countTokens(text), 0),
    embeddings: {
      inputs,
      dimensions: optionalNumber(body, "dimensions", 1, MAX_DIMENSIONS, true) ?? DEFAULT_DIMENSIONS,
      base64: encoding === "base64"
    }
  }
})

/** FNV-1a, as the seed of a text's vector. */
const hash = (text: string): number => {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return h
}

export const vectorOf = (text: string, dimensions: number): Float32Array => {
  const next = random(hash(text))
  const vector = Float32Array.from({ length: dimensions }, () => next() * 2 - 1)
  const length = Math.hypot(...vector) || 1
  return vector.map((value) => value / length)
}

const body = (call: SimulatedCall, answer: SimulatedAnswer): string => {
  const { base64, dimensions, inputs } = call.embeddings ?? { inputs: [], dimensions: 0, base64: false }
  return JSON.stringify({
    object: "list",
    data: inputs.map((text, index) => {
      const vector = vectorOf(text, dimensions)
      const embedding = base64 ? Buffer.from(vector.buffer).toString("base64") : Array.from(vector)
      return { object: "embedding", index, embedding }
    }),
    model: call.model,
    ...(answer.usage === null
      ? {}
      : { usage: { prompt_tokens: answer.usage.promptTokens, total_tokens: answer.usage.promptTokens } })
  })
}

export const embeddings: Format = {
  name: "embeddings",
  matches: (path) => path === "/v1/embeddings",
  read,
  events: () => [],
  body,
  renderError: renderChatError,
  streamError: chatStreamError
}
