/**
 * Google's media: pictures (`imagen-*`) and music (`lyria-*`) of `:predict`, videos of `:predictLongRunning`, whose operation names a file that
 * is downloaded with the same key.
 */
import * as Predicate from "effect/Predicate"
import { countTokens } from "#src/simulator/text.ts"
import { toneOf } from "#src/simulator/formats/audio.ts"
import { Bad, strictly } from "#src/simulator/formats/chatRequest.ts"
import { googleStreamError, renderGoogleError } from "#src/simulator/formats/errors.ts"
import type { Body, Format, Reply, RequestHead, SimulatedCall } from "#src/simulator/formats/Format.ts"
import { pictureOf } from "#src/simulator/formats/images.ts"
import { oneShotCall } from "#src/simulator/formats/oneShotCall.ts"
import * as Jobs from "./jobs.ts"
import { markOf, videoOf } from "./mp4.ts"

const json = (value: unknown): Reply => ({ type: "application/json", pieces: [Buffer.from(JSON.stringify(value))] })

const only = (record: Body, at: string, names: ReadonlyArray<string>): void => {
  for (const name of Object.keys(record)) if (!names.includes(name)) throw new Bad(`Invalid JSON payload received. Unknown name "${name}" at '${at}'.`, name)
}

const instanceIn = (body: Body, names: ReadonlyArray<string>): Body => {
  only(body, "", ["instances", "parameters"])
  const { instances } = body
  if (!Array.isArray(instances) || instances.length !== 1 || !Predicate.isReadonlyObject(instances[0])) throw new Bad("'instances' must be a list with one object.", "instances")
  only(instances[0], "instances[0]", names)
  return instances[0]
}

const promptIn = ({ prompt }: Body): string => {
  if (!Predicate.isString(prompt) || prompt === "") throw new Bad("'instances[0].prompt' must be a text.", "prompt")
  return prompt
}

const parametersIn = (body: Body, names: ReadonlyArray<string>): Body => {
  const { parameters = {} } = body
  if (!Predicate.isReadonlyObject(parameters)) throw new Bad("'parameters' must be an object.", "parameters")
  only(parameters, "parameters", names)
  return parameters
}

const base = String.raw`^\/(?:v1beta|v1\/projects\/[^/]+\/locations\/[^/]+\/publishers\/google)`

// ---- pictures and music ---------------------------------------------------------------------------------------------------------------

const predictPath = new RegExp(`${base}\\/models\\/((?:imagen|lyria)[^/:]*):predict$`)

const MAX_SAMPLES = 4

const samplesIn = (parameters: Body, name: string): number => {
  const { [name]: count = 1 } = parameters
  if (!Number.isSafeInteger(count) || (count as number) < 1 || (count as number) > MAX_SAMPLES) throw new Bad(`'parameters.${name}' must be from 1 to ${MAX_SAMPLES}.`, name)
  return count as number
}

const ratios = ["1:1", "3:4", "4:3", "9:16", "16:9"]

const pictures = (body: Body, model: string): SimulatedCall => {
  const prompt = promptIn(instanceIn(body, ["prompt"]))
  const parameters = parametersIn(body, [
    "sampleCount", "aspectRatio", "sampleImageSize", "personGeneration", "safetySetting", "outputOptions", "seed", "negativePrompt", "guidanceScale", "language", "addWatermark", "enhancePrompt",
    "includeRaiReason", "includeSafetyAttributes"
  ])
  const { aspectRatio } = parameters
  if (aspectRatio !== undefined && !ratios.includes(String(aspectRatio))) throw new Bad(`Aspect ratio ${String(aspectRatio)} is not supported.`, "aspectRatio")
  const bytesBase64Encoded = pictureOf(prompt, "8x8").toString("base64")
  const predictions = Array.from({ length: samplesIn(parameters, "sampleCount") }, () => ({ mimeType: "image/png", bytesBase64Encoded }))
  return oneShotCall(model, countTokens(prompt), () => json({ predictions }))
}

const music = (body: Body, model: string): SimulatedCall => {
  const instance = instanceIn(body, ["prompt", "negative_prompt", "seed"])
  const prompt = promptIn(instance)
  const parameters = parametersIn(body, ["sample_count"])
  if (instance["seed"] !== undefined && parameters["sample_count"] !== undefined) throw new Bad("seed and sample_count exclude each other.", "seed")
  const audioContent = toneOf(prompt).toString("base64")
  const predictions = Array.from({ length: samplesIn(parameters, "sample_count") }, () => ({ audioContent, mimeType: "audio/wav" }))
  return oneShotCall(model, countTokens(prompt), () => json({ predictions, model: `publishers/google/models/${model}` }))
}

const common = { events: () => [], body: () => "", renderError: renderGoogleError, streamError: googleStreamError }

export const predictMedia: Format = {
  ...common, name: "predict-media", matches: (path) => predictPath.test(path), identify: (path) => ({ model: predictPath.exec(path)?.[1] ?? null, stream: false }),
  read: strictly((body, { path }): SimulatedCall => {
    const model = predictPath.exec(path)?.[1] ?? ""
    return model.startsWith("lyria") ? music(body, model) : pictures(body, model)
  })
}

// ---- videos ---------------------------------------------------------------------------------------------------------------------------

const postPath = /^\/v1beta\/models\/([^/:]+):predictLongRunning$/
const operationPath = /^\/v1beta\/models\/([^/:]+)\/operations\/([\w-]+)$/
const filePath = /^\/v1beta\/files\/([\w-]+):download$/

const durations = [4, 6, 8]

const started = (body: Body, model: string): SimulatedCall => {
  const instance = instanceIn(body, ["prompt", "image"])
  const prompt = promptIn(instance)
  const { image } = instance
  if (image !== undefined) {
    if (!Predicate.isReadonlyObject(image) || !Predicate.isString(image["bytesBase64Encoded"]) || !Predicate.isString(image["mimeType"])) throw new Bad("'instances[0].image' must have bytesBase64Encoded and mimeType.", "image")
    only(image, "instances[0].image", ["bytesBase64Encoded", "mimeType"])
  }
  const { durationSeconds = 8 } = parametersIn(body, ["aspectRatio", "durationSeconds", "resolution", "negativePrompt", "seed", "personGeneration"])
  if (!durations.includes(durationSeconds as number)) throw new Bad("`durationSeconds` must be 4, 6 or 8.", "durationSeconds")
  const id = Jobs.begin(model, markOf(prompt), durationSeconds as number)
  return oneShotCall(model, countTokens(prompt), () => json({ name: `models/${model}/operations/${id}` }))
}

const jobAt = (path: string): Jobs.SimulatedJob | null => Jobs.read(operationPath.exec(path)?.[2] ?? filePath.exec(path)?.[1] ?? "")

const stateOf = (path: string, { headers }: RequestHead): SimulatedCall => {
  const job = jobAt(path)
  if (job === null) throw new Bad("The operation was not found.", null, null, 404)
  const name = path.slice("/v1beta/".length)
  const [, , id = ""] = operationPath.exec(path) ?? []
  const uri = `http://${headers.host ?? ""}/v1beta/files/${id}:download?alt=media`
  return oneShotCall(job.model, 0, () => json(Jobs.isDone(job)
    ? { name, done: true, response: { "@type": "type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse", generateVideoResponse: { generatedSamples: [{ video: { uri } }] } } }
    : { name }))
}

const file = (path: string): SimulatedCall => {
  const job = jobAt(path)
  if (job === null) throw new Bad("The file was not found.", null, null, 404)
  return oneShotCall(job.model, 0, () => ({ type: "video/mp4", pieces: [videoOf(job.mark, job.seconds)] }))
}

export const longPredictions: Format = {
  ...common, name: "predict-long-running", methods: ["GET"], matches: (path) => postPath.test(path) || operationPath.test(path) || filePath.test(path),
  identify: (path) => ({ model: postPath.exec(path)?.[1] ?? jobAt(path)?.model ?? null, stream: false }),
  read: strictly((body, request): SimulatedCall => {
    const { path } = request
    const model = postPath.exec(path)?.[1]
    return model !== undefined ? started(body, model) : filePath.test(path) ? file(path) : stateOf(path, request)
  })
}
