/**
 * Requests for images of Google's clients: `:predict` with one prompt and its parameters. A server of that format is sent the same; any
 * other one is asked in the common format, and its images come back as predictions. Pure.
 */
import type { PublicError } from "#schemas/errors.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import * as GeneratedMedia from "#src/wire/oneShot/generatedMedia.ts"
import type { Asked, Encoded, OneShotCodec } from "#src/wire/oneShot/OneShotCodec.ts"
import type { Json as Body } from "#src/wire/WireFormat.ts"
import { codec as images } from "./codec.ts"
import type { ImageHead } from "./request.ts"

const mostImages = 10

const parametersIn = (body: Body): Body => Json.isRecord(body["parameters"]) ? body["parameters"] : {}

const promptIn = ({ instances }: Body): string | PublicError => {
  if (!Array.isArray(instances) || instances.length !== 1) return invalid("instances", "Field 'instances' must be a list with one object.")
  const [first]: ReadonlyArray<unknown> = instances
  const prompt = Json.isRecord(first) ? first["prompt"] : null
  return typeof prompt === "string" && prompt.trim() !== "" ? prompt : invalid("instances[0].prompt", "Field 'instances[0].prompt' must be a non-empty string.")
}

const head = (body: Body): ImageHead | PublicError => {
  const prompt = promptIn(body)
  if (typeof prompt !== "string") return prompt
  if (!GeneratedMedia.isAbsent(body["parameters"]) && !Json.isRecord(body["parameters"])) return invalid("parameters", "Field 'parameters' must be an object.")
  const { sampleCount: count = 1 } = parametersIn(body)
  if (!Number.isSafeInteger(count) || (count as number) < 1 || (count as number) > mostImages) {
    return invalid("parameters.sampleCount", `Field 'parameters.sampleCount' must be a whole number from 1 to ${mostImages}.`)
  }
  return { model: String(body["model"] ?? ""), stream: false, wantsUsage: false, count: count as number }
}

/** The vendor's parameters by the names of the common format. */
const names: Readonly<Record<string, string>> = { sampleCount: "n", aspectRatio: "aspect_ratio", sampleImageSize: "image_size", seed: "seed" }

/** Models that answer with bytes only, and refuse to be told so. */
const alwaysBytes = /^(?:gpt-image|chatgpt-image)/

const neutral = (asked: Asked, isOther: boolean): { readonly asked: Asked; readonly left: ReadonlyArray<string> } => {
  const { model, parsed } = asked
  const parameters = parametersIn(parsed)
  const said = Object.entries(parameters).filter(([, value]) => !GeneratedMedia.isAbsent(value))
  // Servers of the common format have sizes, and no ratios.
  const square = isOther && parameters["aspectRatio"] === "1:1"
  const taken = (name: string): boolean => Object.hasOwn(names, name) && !(isOther && (name === "aspectRatio" || name === "sampleImageSize"))
  const body = {
    model, prompt: promptIn(parsed), ...Object.fromEntries(said.flatMap(([name, value]) => taken(name) ? [[names[name] as string, value]] : [])), ...(square ? { size: "1024x1024" } : {}),
    ...(isOther && !alwaysBytes.test(model) ? { response_format: "b64_json" } : {})
  }
  const bytes = Buffer.from(JSON.stringify(body))
  return {
    asked: { ...asked, bytes, parsed: body },
    left: said.flatMap(([name]) => taken(name) || (square && name === "aspectRatio") ? [] : [`parameters.${name}`])
  }
}

const encode = (family: string, asked: Asked): Encoded<null> | PublicError => {
  if (family === "images/predict") {
    const { model: _model, ...body } = asked.parsed
    return { body: Buffer.from(JSON.stringify(body)), omitted: OneShotJson.nothing, note: null }
  }
  const { asked: other, left } = neutral(asked, family === "images")
  const made = images.encode(family as "images", other)
  return "body" in made ? { ...made, omitted: [...made.omitted, ...left] } : made
}

/** The type of an image by its first bytes, as base64. */
const typeOf = (base64: string): string =>
  base64.startsWith("/9j/") ? "image/jpeg" : base64.startsWith("UklGR") ? "image/webp" : base64.startsWith("R0lG") ? "image/gif" : "image/png"

export const codec: OneShotCodec<ImageHead> = {
  head,
  encode,
  read: (family, bytes, wanted) => {
    const facts = images.read(family, bytes, wanted)
    if (facts === null || facts.error !== null) return facts
    // The vendor's own answer also says what a filter left out.
    if (family === "images/predict") return { ...facts, body: bytes }
    const data = OneShotJson.recordOf(facts.body)?.["data"]
    const predictions = (Array.isArray(data) ? data : []).flatMap((item: unknown) => {
      const base64 = Json.isRecord(item) ? item["b64_json"] : undefined
      return typeof base64 === "string" ? [{ mimeType: typeOf(base64), bytesBase64Encoded: base64 }] : []
    })
    return predictions.length === 0 ? null : { ...facts, body: Buffer.from(JSON.stringify({ predictions })) }
  },
  readError: images.readError
}
