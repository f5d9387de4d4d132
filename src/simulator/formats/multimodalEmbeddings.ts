/**
 * Embeddings of texts and media as two vendors make them: `POST /v1/multimodalembeddings` (https://docs.voyageai.com/docs/multimodal-embeddings)
 * and `POST /v2/embed` (https://docs.cohere.com/reference/embed). The vector of an input is a seeded function of its JSON text.
 */
import * as Predicate from "effect/Predicate"
import { countTokens } from "#src/simulator/text.ts"
import { Bad, invalidType, invalidValue, missing, optionalNumber, requiredModel, strictly } from "./chatRequest.ts"
import { vectorOf } from "./embeddings.ts"
import { chatStreamError, renderChatError } from "./errors.ts"
import type { Body, Format, SimulatedCall } from "./Format.ts"
import { oneShotCall } from "./oneShotCall.ts"

const defaultDimensions = 8

/** A data URI or an https URL. */
const mediaOf = (value: unknown, at: string): string => {
  if (typeof value !== "string" || !/^(?:data:[\w.+-]+\/[\w.+-]+;base64,[A-Za-z0-9+/]+={0,2}|https:\/\/\S+)$/.test(value)) throw new Bad(`'${at}' must be a data URI or an https URL.`, at)
  return value
}

const only = (body: Body, at: string, names: ReadonlyArray<string>): void => {
  for (const name of Object.keys(body)) if (!names.includes(name)) throw new Bad(`Unknown field '${name}' at '${at}'.`, name)
}

/** The text that stands for a part; `kinds` reads each kind. */
const partOf = (part: unknown, at: string, kinds: Readonly<Record<string, (part: Body) => string>>): string => {
  const read = Predicate.isReadonlyObject(part) && typeof part["type"] === "string" ? kinds[part["type"]] : undefined
  if (!Predicate.isReadonlyObject(part) || read === undefined) throw invalidValue(`${at}.type`, Predicate.isReadonlyObject(part) ? part["type"] : part, Object.keys(kinds))
  return read(part)
}

const textOf = ({ text }: Body): string => {
  if (typeof text !== "string" || text === "") throw new Bad("A text must not be empty.", "text")
  return text
}

const voyageParts: Readonly<Record<string, (part: Body) => string>> = {
  text: textOf,
  image_url: (part) => mediaOf(part["image_url"], "image_url"),
  image_base64: (part) => mediaOf(part["image_base64"], "image_base64"),
  video_base64: (part) => mediaOf(part["video_base64"], "video_base64")
}

const cohereParts: Readonly<Record<string, (part: Body) => string>> = {
  text: textOf,
  image_url: (part) => mediaOf(Predicate.isReadonlyObject(part["image_url"]) ? part["image_url"]["url"] : undefined, "image_url.url")
}

const inputsOf = (inputs: unknown, kinds: Readonly<Record<string, (part: Body) => string>>): ReadonlyArray<string> => {
  if (inputs === undefined) throw missing("inputs")
  if (!Array.isArray(inputs) || inputs.length === 0) throw invalidType("inputs", "a list of inputs", inputs)
  return (inputs as ReadonlyArray<unknown>).map((input, i) => {
    const content: unknown = Predicate.isReadonlyObject(input) ? input["content"] : null
    if (!Array.isArray(content) || content.length === 0) throw new Bad(`'inputs[${i}].content' must be a non-empty list.`, "inputs")
    return (content as ReadonlyArray<unknown>).map((part) => partOf(part, `inputs[${i}]`, kinds)).join("\n")
  })
}

const json = (model: string, inputs: ReadonlyArray<string>, answer: (tokens: number | null, id: string) => object): SimulatedCall =>
  oneShotCall(model, inputs.reduce((sum, text) => sum + countTokens(text), 0), ({ id, usage }) =>
    ({ type: "application/json", pieces: [Buffer.from(JSON.stringify(answer(usage === null ? null : usage.promptTokens, id)))] }))

const format = (name: string, path: string, read: Format["read"]): Format =>
  ({ name, matches: (asked) => asked === path, read, events: () => [], body: () => "", renderError: renderChatError, streamError: chatStreamError })

const kindsOfInput = ["search_document", "search_query", "classification", "clustering", "image"]

export const multimodalEmbeddings = format("multimodal-embeddings", "/v1/multimodalembeddings", strictly((body): SimulatedCall => {
  const model = requiredModel(body)
  only(body, "", ["model", "inputs", "input_type", "truncation", "output_dimension", "output_encoding"])
  const inputs = inputsOf(body["inputs"], voyageParts)
  const dimensions = optionalNumber(body, "output_dimension", 1, 2048, true) ?? defaultDimensions
  return json(model, inputs, (tokens) => ({
    object: "list", model, data: inputs.map((text, index) => ({ object: "embedding", index, embedding: Array.from(vectorOf(text, dimensions)) })),
    ...(tokens === null ? {} : { usage: { text_tokens: tokens, image_pixels: 0, total_tokens: tokens } })
  }))
}))

export const embedV2 = format("embed-v2", "/v2/embed", strictly((body): SimulatedCall => {
  const model = requiredModel(body)
  only(body, "", ["model", "inputs", "texts", "input_type", "embedding_types", "truncate", "output_dimension", "max_tokens"])
  if (typeof body["input_type"] !== "string" || !kindsOfInput.includes(body["input_type"])) throw invalidValue("input_type", body["input_type"], kindsOfInput)
  if (!Array.isArray(body["embedding_types"]) || body["embedding_types"].join() !== "float") throw invalidValue("embedding_types", body["embedding_types"], ["float"])
  const inputs = inputsOf(body["inputs"], cohereParts)
  const dimensions = optionalNumber(body, "output_dimension", 1, 1536, true) ?? defaultDimensions
  return json(model, inputs, (tokens, id) => ({
    id, response_type: "embeddings_by_type", embeddings: { float: inputs.map((text) => Array.from(vectorOf(text, dimensions))) },
    meta: { api_version: { version: "2" }, ...(tokens === null ? {} : { billed_units: { input_tokens: tokens } }) }
  }))
}))
