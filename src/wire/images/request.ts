/** Requests for images: what clients may ask, and how each family of servers is asked. Pure. */
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import * as Splice from "#src/wire/json/splice.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import type { Encoded } from "#src/wire/oneShot/OneShotCodec.ts"
import type { Json as Body, RequestHead } from "#src/wire/WireFormat.ts"

export interface ImageHead extends RequestHead {
  /** How many images the client asks for. */
  readonly count: number
}

/** Longest model id of a request, characters. */
const longestModel = 512

/** Most images of one request. */
const mostImages = 10

const isAbsent = (value: unknown): value is null | undefined => value === undefined || value === null

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= mostImages

/** Reads what is planned by, and refuses what no server could read. Members that are not named here are the vendors' and are forwarded. */
export const head = (body: Body): ImageHead | PublicError => {
  const { model, n, prompt, response_format: format, stream } = body
  if (typeof model !== "string" || model === "") return invalid("model", "Field 'model' must be a non-empty string such as 'openai/gpt-image-1'.")
  if (model.length > longestModel) return invalid("model", `Field 'model' must have at most ${longestModel} characters.`)
  if (typeof prompt !== "string" || prompt.trim() === "") return invalid("prompt", "Field 'prompt' is required: a non-empty string.")
  if (!isAbsent(n) && !isCount(n)) return invalid("n", `Field 'n' must be a whole number from 1 to ${mostImages}.`)
  for (const name of ["size", "quality"] as const) {
    if (!isAbsent(body[name]) && typeof body[name] !== "string") return invalid(name, `Field '${name}' must be a string.`)
  }
  if (!isAbsent(format) && format !== "url" && format !== "b64_json") return invalid("response_format", "Field 'response_format' must be 'url' or 'b64_json'.")
  if (!isAbsent(stream) && typeof stream !== "boolean") return invalid("stream", "Field 'stream' must be true or false.")
  return { model, stream: stream === true, wantsUsage: false, count: n ?? 1 }
}

const nothing: ReadonlyArray<string> = []

/** The request for a server of the family that knows the model as `model`; `parsed` is what the bytes say. */
export const encode = (family: TargetFamily, bytes: Buffer, parsed: Body, model: string): Encoded<null> | PublicError =>
  family === "images/predict" ? instances(parsed) : { body: named(bytes, parsed, model), omitted: nothing, note: null }

/** The client's own bytes with another model. */
const named = (bytes: Buffer, parsed: Body, model: string): Uint8Array =>
  Splice.edit(bytes, parsed, [{ key: "model", value: JSON.stringify(model) }]) ?? Buffer.from(JSON.stringify({ ...parsed, model }))

/** Members that `:predict` takes under another name, or that say nothing to it. */
const understood: ReadonlySet<string> = new Set(["model", "prompt", "n", "size", "response_format", "stream"])

const gcd = (a: number, b: number): number => b === 0 ? a : gcd(b, a % b)

/** `1536x1024` is 3:2; null for another word. */
const ratioOf = (size: unknown): string | null => {
  const [, width, height] = typeof size === "string" ? /^([1-9]\d{0,4})x([1-9]\d{0,4})$/.exec(size) ?? [] : []
  if (width === undefined || height === undefined) return null
  const shared = gcd(Number(width), Number(height))
  return `${Number(width) / shared}:${Number(height) / shared}`
}

/** Its answers hold bytes, never addresses. */
const instances = (parsed: Body): Encoded<null> | PublicError => {
  if (parsed["response_format"] === "url") {
    return Errors.make("bad_request", "This model answers with bytes only: set 'response_format' to 'b64_json'.", { extra: { param: "response_format" } })
  }
  const ratio = ratioOf(parsed["size"])
  const isLost = !isAbsent(parsed["size"]) && ratio === null
  const parameters = { sampleCount: parsed["n"] ?? 1, ...(ratio === null ? {} : { aspectRatio: ratio }) }
  return {
    body: Buffer.from(JSON.stringify({ instances: [{ prompt: parsed["prompt"] }], parameters })), note: null,
    omitted: Object.keys(parsed).filter((name) => !isAbsent(parsed[name]) && (!understood.has(name) || (name === "size" && isLost)))
  }
}
