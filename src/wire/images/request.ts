/** Requests for images: what clients may ask, and how each family of servers is asked. Pure. */
import type { PublicError } from "#schemas/errors.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import * as Splice from "#src/wire/json/splice.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import type { Asked, Encoded, MediaWish } from "#src/wire/oneShot/OneShotCodec.ts"
import type { Json as Body, RequestHead } from "#src/wire/WireFormat.ts"
import * as Content from "./content.ts"
import { namedImages } from "./inputs.ts"
import * as Predict from "./predict.ts"

export interface ImageHead extends RequestHead {
  /** How many images the client asks for. */
  readonly count: number
}

/** Most images of one request. */
const mostImages = 10

/** Most images that one request names, and the largest that are sent inline, bytes. */
const mostInputs = 16
const maxImageBytes = 8 * 1024 * 1024
const maxInputBytes = 16 * 1024 * 1024

const texts = ["size", "quality", "style", "output_format", "background", "aspect_ratio", "image_size"] as const

const isAbsent = (value: unknown): value is null | undefined => value === undefined || value === null

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= mostImages

const imageRefusal = (body: Body): PublicError | null => {
  const named = namedImages(body)
  const wrong = named.find(({ address }) => address === null)
  if (wrong !== undefined) return invalid(wrong.at, `Field '${wrong.at}' must name an https address or a data: URI of an image.`)
  return named.length > mostInputs ? invalid("image", `A request may name ${mostInputs} images.`) : null
}

/** Reads what is planned by, and refuses what no server could read. Members that are not named here are the vendors' and are forwarded. */
export const head = (body: Body): ImageHead | PublicError => {
  const { model, n, prompt, response_format: format, stream } = body
  if (typeof model !== "string" || model === "") return invalid("model", "Field 'model' must be a non-empty string such as 'openai/gpt-image-1'.")
  // Models that change an image may need no words.
  const isEdit = !isAbsent(body["image"])
  if (!(isEdit && isAbsent(prompt)) && (typeof prompt !== "string" || prompt.trim() === "")) return invalid("prompt", "Field 'prompt' is required: a non-empty string.")
  if (!isAbsent(n) && !isCount(n)) return invalid("n", `Field 'n' must be a whole number from 1 to ${mostImages}.`)
  for (const name of texts) {
    if (!isAbsent(body[name]) && typeof body[name] !== "string") return invalid(name, `Field '${name}' must be a string.`)
  }
  if (!isAbsent(format) && format !== "url" && format !== "b64_json") return invalid("response_format", "Field 'response_format' must be 'url' or 'b64_json'.")
  if (!isAbsent(body["seed"]) && !Number.isSafeInteger(body["seed"])) return invalid("seed", "Field 'seed' must be a whole number.")
  if (!isAbsent(stream) && typeof stream !== "boolean") return invalid("stream", "Field 'stream' must be true or false.")
  return imageRefusal(body) ?? { model, stream: stream === true, wantsUsage: false, count: n ?? 1 }
}

const nothing: ReadonlyArray<string> = []

/** The request for a server of the family that knows the model as `model`; `parsed` is what the bytes say. */
export const encode = (family: TargetFamily, asked: Asked): Encoded<null> | PublicError => {
  const { bytes, model, parsed } = asked
  if (family === "images/predict") return Predict.encode(parsed)
  return family === "images/content" ? Content.encode(asked) : { body: named(bytes, parsed, model), omitted: nothing, note: null }
}

/** The client's own bytes with another model. */
const named = (bytes: Buffer, parsed: Body, model: string): Uint8Array =>
  Splice.edit(bytes, parsed, [{ key: "model", value: JSON.stringify(model) }]) ?? Buffer.from(JSON.stringify({ ...parsed, model }))

/** Images that are named by URL: one vendor is sent their bytes, the others fetch them. */
export const media = (family: TargetFamily, { parsed }: Asked): MediaWish => ({
  remote: namedImages(parsed).flatMap(({ address, at }) => address === null || !/^https:/i.test(address) ? [] : [{ url: address, at, types: family === "images/content" ? "^image/" : null }]),
  maxBytes: maxImageBytes, room: maxInputBytes
})
