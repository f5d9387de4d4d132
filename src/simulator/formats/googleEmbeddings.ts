/** Google's embeddings: `POST /v1beta/models/{model}:batchEmbedContents`, and `:predict` below a project of Vertex AI. The first takes media, too; of the second only the multimodal model does. */
import * as Predicate from "effect/Predicate"
import { countTokens } from "#src/simulator/text.ts"
import { Bad, strictly } from "./chatRequest.ts"
import { vectorOf } from "./embeddings.ts"
import { googleStreamError, renderGoogleError } from "./errors.ts"
import type { Body, SimulatedCall, Format } from "./Format.ts"

const DEFAULT_DIMENSIONS = 3072
const addressOf = (path: string) => {
  const match = /^\/(?:v1beta|v1\/projects\/[^/]+\/locations\/[^/]+\/publishers\/google)\/models\/([^/:]+):(batchEmbedContents|predict)$/.exec(path)
  return match === null ? null : { model: decodeURIComponent(match[1] as string), method: match[2] as "batchEmbedContents" | "predict" }
}

const only = (record: Body, at: string, names: ReadonlyArray<string>): void => {
  for (const name of Object.keys(record)) if (!names.includes(name)) throw new Bad(`Invalid JSON payload received. Unknown name "${name}" at '${at}'.`, name)
}

const listAt = (body: Body, name: string): ReadonlyArray<Body> => {
  const list: unknown = body[name]
  if (!Array.isArray(list) || list.length === 0 || !list.every(Predicate.isReadonlyObject)) throw new Bad(`'${name}' must be a non-empty list of objects.`, name)
  return list
}

const textOf = (text: unknown, at: string): string => {
  if (typeof text !== "string" || text === "") throw new Bad(`'${at}' must be a text.`, at)
  return text
}

/** Text and wished dimensions of one part of a batch. */
const content = (request: Body, at: string, model: string) => {
  only(request, at, ["model", "content", "taskType", "title", "outputDimensionality"])
  if (request["model"] !== `models/${model}`) throw new Bad(`'${at}.model' must be models/${model}.`, `${at}.model`)
  const parts = Predicate.isReadonlyObject(request["content"]) ? request["content"]["parts"] : null
  const said = Array.isArray(parts) && parts.length > 0 ? parts as ReadonlyArray<unknown> : [null]
  return { text: said.map((part, i) => partOf(part, `${at}.content.parts[${i}]`)).join("\n"), dimensions: request["outputDimensionality"] }
}

/** Text, or bytes with their type; all parts of a content make one vector. */
const partOf = (part: unknown, at: string): string => {
  const blob = Predicate.isReadonlyObject(part) ? part["inlineData"] : undefined
  if (!Predicate.isReadonlyObject(part) || blob === undefined) return textOf(Predicate.isReadonlyObject(part) ? part["text"] : null, `${at}.text`)
  only(part, at, ["inlineData"])
  if (!Predicate.isReadonlyObject(blob) || typeof blob["mimeType"] !== "string") throw new Bad(`'${at}.inlineData.mimeType' must be a text.`, at)
  return textOf(blob["data"], `${at}.inlineData.data`)
}

/** An instance of the multimodal model: a text, an image or a video. */
const multimodalOf = (instance: Body, at: string): string => {
  only(instance, at, ["text", "image", "video"])
  const kind = Predicate.isReadonlyObject(instance["image"]) ? "image" : Predicate.isReadonlyObject(instance["video"]) ? "video" : null
  const medium = kind === null ? undefined : instance[kind]
  if (!Predicate.isReadonlyObject(medium)) return textOf(instance["text"], `${at}.text`)
  only(medium, at, ["bytesBase64Encoded", "mimeType", "gcsUri"])
  return `${kind}:${textOf(medium["bytesBase64Encoded"], `${at}.bytesBase64Encoded`)}`
}

const predictionOf = (text: string, values: ReadonlyArray<number>): object => text.startsWith("video:")
  ? { videoEmbeddings: [{ startOffsetSec: 0, endOffsetSec: 7, embedding: values }] }
  : text.startsWith("image:") ? { imageEmbedding: values } : { textEmbedding: values }

const isMultimodal = (model: string): boolean => model.startsWith("multimodalembedding")

const read = strictly((body, { path }): SimulatedCall => {
  const { method, model } = addressOf(path) ?? { method: "predict", model: "" }
  let inputs: ReadonlyArray<string>
  let dimensions: unknown
  if (method === "batchEmbedContents") {
    only(body, "", ["requests"])
    const said = listAt(body, "requests").map((one, i) => content(one, `requests[${i}]`, model))
    inputs = said.map(({ text }) => text)
    dimensions = said[0]?.dimensions
  } else {
    only(body, "", ["instances", "parameters"])
    inputs = listAt(body, "instances").map((one, i) => {
      if (isMultimodal(model)) return multimodalOf(one, `instances[${i}]`)
      only(one, `instances[${i}]`, ["content", "task_type", "title"])
      return textOf(one["content"], `instances[${i}].content`)
    })
    dimensions = Predicate.isReadonlyObject(body["parameters"]) ? body["parameters"][isMultimodal(model) ? "dimension" : "outputDimensionality"] : undefined
  }
  return {
    model, stream: false, n: 1, includeUsage: false, maxTokens: null, stop: [], lastUserText: "", toolResult: null, tools: [], toolChoice: "none", json: null,
    promptTokens: inputs.reduce((sum, text) => sum + countTokens(text), 0),
    embeddings: { inputs, dimensions: typeof dimensions === "number" ? dimensions : DEFAULT_DIMENSIONS, base64: false }
  }
})

const make = (method: "batchEmbedContents" | "predict", body: Format["body"]): Format => ({
  name: method,
  matches: (path) => addressOf(path)?.method === method,
  identify: (path) => ({ model: addressOf(path)?.model ?? null, stream: false }),
  read,
  events: () => [],
  body,
  renderError: renderGoogleError,
  streamError: googleStreamError
})

const vectorsOf = ({ embeddings }: SimulatedCall) => (embeddings?.inputs ?? []).map((text) => ({ text, values: Array.from(vectorOf(text, embeddings?.dimensions ?? 1)) }))

export const batchEmbedContents = make("batchEmbedContents", (call, { usage }) => JSON.stringify({
  embeddings: vectorsOf(call).map(({ values }) => ({ values })),
  ...(usage === null ? {} : { usageMetadata: { promptTokenCount: usage.promptTokens } })
}))

export const predict = make("predict", (call) => JSON.stringify({
  predictions: vectorsOf(call).map(({ text, values }) => isMultimodal(call.model) ? predictionOf(text, values) : ({ embeddings: { values, statistics: { truncated: false, token_count: countTokens(text) } } }))
}))
