/** The images format: `POST /v1/images/generations`. The picture of a prompt is one colour, of the size that was asked for. */
import { crc32, deflateSync } from "node:zlib"
import * as Predicate from "effect/Predicate"
import { countTokens } from "#src/simulator/text.ts"
import { Bad, optionalBoolean, optionalNumber, requiredModel, strictly } from "./chatRequest.ts"
import { chatStreamError, renderChatError } from "./errors.ts"
import type { Format, Reply, SimulatedAnswer, SimulatedCall } from "./Format.ts"
import { oneShotCall } from "./oneShotCall.ts"

const MAX_IMAGES = 10

const chunk = (name: string, data: Buffer): Buffer => {
  const named = Buffer.concat([Buffer.from(name, "latin1"), data])
  const framed = Buffer.alloc(named.length + 8)
  framed.writeUInt32BE(data.length)
  named.copy(framed, 4)
  framed.writeUInt32BE(crc32(named), named.length + 4)
  return framed
}

/** One bit a pixel, and a palette whose only colour is the prompt's. */
export const pictureOf = (prompt: string, size: string): Buffer => {
  const [width = 8, height = 8] = /^\d+x\d+$/.test(size) ? size.split("x").map(Number) : []
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0])
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  const colour = Buffer.alloc(4)
  colour.writeUInt32BE(crc32(prompt))
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), chunk("IHDR", header), chunk("PLTE", colour.subarray(0, 3)),
    chunk("IDAT", deflateSync(Buffer.alloc((1 + Math.ceil(width / 8)) * height))), chunk("IEND", Buffer.alloc(0))
  ])
}

const read = strictly((body): SimulatedCall => {
  const model = requiredModel(body)
  const { prompt, response_format: format = "b64_json", size = "8x8" } = body
  if (!Predicate.isString(prompt)) throw new Bad("Missing required parameter: 'prompt'.", "prompt", "missing_required_parameter")
  if (format !== "url" && format !== "b64_json") throw new Bad("Supported values are: 'url', 'b64_json'.", "response_format", "invalid_value")
  if (!Predicate.isString(size) || !/^(?:auto|\d{1,4}x\d{1,4})$/.test(size)) throw new Bad("Invalid size.", "size", "invalid_value")
  const n = optionalNumber(body, "n", 1, MAX_IMAGES, true) ?? 1
  const item = () => format === "url"
    ? { url: `https://images.simulator.example/${crc32(prompt).toString(16)}.png` }
    : { b64_json: pictureOf(prompt, size).toString("base64") }
  const text = ({ created, usage }: SimulatedAnswer): string => JSON.stringify({
    created, data: Array.from({ length: n }, item),
    ...(usage === null ? {} : { usage: { input_tokens: usage.promptTokens, output_tokens: usage.completionTokens, total_tokens: usage.totalTokens } })
  })
  const isStream = optionalBoolean(body, "stream") === true
  const partial = optionalNumber(body, "partial_images", 0, MAX_PARTIAL_IMAGES, true) ?? 0
  return {
    model, stream: false, n: 1, includeUsage: false, maxTokens: null, stop: [], lastUserText: prompt, toolResult: null, tools: [], toolChoice: "none",
    json: null, promptTokens: countTokens(prompt),
    reply: (answer) => isStream ? streamed("image_generation", pictureOf(prompt, size), partial, answer) : { type: "application/json", pieces: [Buffer.from(text(answer))] }
  }
})

const MAX_PARTIAL_IMAGES = 3

/** The picture in so many parts, which all are the whole one, and its end with what it used. */
const streamed = (name: string, picture: Buffer, partial: number, { created, usage }: SimulatedAnswer): Reply => {
  const common = { b64_json: picture.toString("base64"), created_at: created, size: "auto", quality: "high", background: "opaque", output_format: "png" }
  const used = usage === null ? {} : {
    usage: { total_tokens: usage.totalTokens, input_tokens: usage.promptTokens, output_tokens: usage.completionTokens, input_tokens_details: { text_tokens: usage.promptTokens, image_tokens: 0 } }
  }
  const events = [
    ...Array.from({ length: partial }, (_, i) => ({ type: `${name}.partial_image`, partial_image_index: i, ...common })), { type: `${name}.completed`, ...common, ...used }
  ]
  return { type: "text/event-stream", pieces: events.map((event) => Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)) }
}

/** One picture for each that is asked for, as large as the first that came. */
const edited = strictly((body): SimulatedCall => {
  const model = requiredModel(body)
  const { image, n = "1", prompt } = body
  if (!Predicate.isString(prompt)) throw new Bad("Missing required parameter: 'prompt'.", "prompt", "missing_required_parameter")
  const files: ReadonlyArray<unknown> = Array.isArray(image) ? image : [image]
  if (!files.every((file) => Predicate.isObject(file) && "filename" in file)) throw new Bad("Missing required parameter: 'image'.", "image", "missing_required_parameter")
  const data = Array.from({ length: Number(n) }, () => ({ b64_json: pictureOf(prompt, "8x8").toString("base64") }))
  const isStream = body["stream"] === "true"
  return oneShotCall(model, countTokens(prompt), (answer) => isStream
    ? streamed("image_edit", pictureOf(prompt, "8x8"), Number(body["partial_images"] ?? 0), answer)
    : { type: "application/json", pieces: [Buffer.from(JSON.stringify({ created: answer.created, data }))] })
})

export const imageEdits: Format = {
  name: "image-edits", isForm: true, matches: (path) => path === "/v1/images/edits", read: edited, events: () => [], body: () => "", renderError: renderChatError,
  streamError: chatStreamError
}

export const images: Format = {
  name: "images", matches: (path) => path === "/v1/images/generations", read, events: () => [], body: () => "", renderError: renderChatError,
  streamError: chatStreamError
}
