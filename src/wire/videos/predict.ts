/**
 * Videos of Google (https://ai.google.dev/gemini-api/docs/video): `:predictLongRunning` names an operation, and the video is downloaded with
 * the same key, which clients do not have; they are given its bytes.
 */
import type { AnswerFacts } from "#actors/request/ports/Face.ts"
import { upstream as generateContent } from "#src/wire/generateContent/index.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as InlineImage from "#src/wire/oneShot/inlineImage.ts"
import type { State } from "#src/wire/oneShot/job.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import * as GeneratedMedia from "#src/wire/oneShot/generatedMedia.ts"
import { isVideo, type VideoVendor } from "./VideoVendor.ts"

type Body = Readonly<Record<string, unknown>>

/** Length of a video unless the request says otherwise, s. */
const usualSeconds = 8

/** The vendor's names of parameters. */
const parameterNames: Readonly<Record<string, string>> = {
  aspect_ratio: "aspectRatio", duration: "durationSeconds", resolution: "resolution", negative_prompt: "negativePrompt", seed: "seed", person_generation: "personGeneration"
}
const understood: ReadonlySet<string> = new Set([...Object.keys(parameterNames), "model", "prompt", "image", "n", "response_format"])

const at = (value: unknown, ...names: ReadonlyArray<string>): unknown =>
  names.reduce((found: unknown, name) => Json.isRecord(found) ? found[name] : undefined, value)

const responseOf = (state: Body): unknown => at(state, "response", "generateVideoResponse") ?? state["response"]

const firstVideo = (state: Body): unknown => {
  const samples = at(responseOf(state), "generatedSamples") ?? at(responseOf(state), "videos")
  const [first]: ReadonlyArray<unknown> = Array.isArray(samples) ? samples : []
  return at(first, "video") ?? first
}

const bytesIn = (video: unknown): string | null => {
  const bytes = at(video, "bytesBase64Encoded") ?? at(video, "encodedVideo")
  return typeof bytes === "string" && bytes !== "" ? bytes : null
}

/** An operation by its name, which begins where the version ends: beside the path of the model, two names up. */
const namePattern = /^(?!.*\.\.)[\w][\w./@:-]{0,500}$/

const stateOf = (state: Body): State => {
  const { done, name } = state
  if (done !== true) return typeof name === "string" && namePattern.test(name) ? { ask: `../${name}` } : "over"
  const video = firstVideo(state)
  const uri = at(video, "uri")
  return bytesIn(video) === null && typeof uri === "string" ? { ask: uri, moves: true, atOnce: true } : "over"
}

const given = (base64: string, now: number, seconds: number | null): AnswerFacts =>
  GeneratedMedia.answered(now, [{ b64_json: base64 }], { second: seconds ?? usualSeconds })

const filtered = (state: Body): string | null => {
  const reasons = at(responseOf(state), "raiMediaFilteredReasons")
  return Array.isArray(reasons) && typeof reasons[0] === "string" ? reasons[0] : null
}

export const predict: VideoVendor = {
  inlines: true,
  encode: ({ media, parsed }, image) => {
    const refused = GeneratedMedia.onlyOne(parsed, "video") ?? GeneratedMedia.onlyBytes(parsed)
    if (refused !== null) return refused
    const inline = image === null ? null : InlineImage.of(image, media ?? [])
    if (image !== null && inline === null) return invalid("image", "Field 'image' must be base64 where it is a data: URI.")
    const parameters = Object.fromEntries(Object.entries(parameterNames).flatMap(([name, own]) => GeneratedMedia.isAbsent(parsed[name]) ? [] : [[own, parsed[name]]]))
    return {
      body: Buffer.from(JSON.stringify({ instances: [{ prompt: parsed["prompt"], ...(inline === null ? {} : { image: { bytesBase64Encoded: inline.base64, mimeType: inline.mimeType } }) }], parameters })),
      omitted: GeneratedMedia.omitted(parsed, understood)
    }
  },
  stateOf,
  read: (bytes, now, seconds) => {
    if (isVideo(bytes)) return given(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"), now, seconds)
    const state = OneShotJson.recordOf(bytes)
    if (state === null) return null
    const error = generateContent.readError(state)
    if (error !== null) return GeneratedMedia.failed(bytes, error)
    const base64 = bytesIn(firstVideo(state))
    if (base64 !== null) return given(base64, now, seconds)
    const reason = filtered(state)
    return reason === null ? null : GeneratedMedia.failed(bytes, GeneratedMedia.failure(reason, "content_policy_violation", 400))
  }
}
