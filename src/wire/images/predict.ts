/** Images of Google's `:predict`: the request for them, and its parameters by the clients' names. Pure. */
import type { PublicError } from "#schemas/errors.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as GeneratedMedia from "#src/wire/oneShot/generatedMedia.ts"
import type { Encoded } from "#src/wire/oneShot/OneShotCodec.ts"
import type { Json as Body } from "#src/wire/WireFormat.ts"

/** Members that `:predict` takes under another name, or that say nothing to it. */
const understood: ReadonlySet<string> = new Set(["model", "prompt", "n", "size", "response_format", "stream", "aspect_ratio", "image_size", "seed", "output_format"])

const gcd = (a: number, b: number): number => b === 0 ? a : gcd(b, a % b)

/** `1536x1024` is 3:2; null for another word. */
const ratioOf = (size: unknown): string | null => {
  const [, width, height] = typeof size === "string" ? /^([1-9]\d{0,4})x([1-9]\d{0,4})$/.exec(size) ?? [] : []
  if (width === undefined || height === undefined) return null
  const shared = gcd(Number(width), Number(height))
  return `${Number(width) / shared}:${Number(height) / shared}`
}

/** What a request says of the form of its images: a ratio beats a size. */
export const formOf = (parsed: Body): { readonly ratio: string | null; readonly isSizeLost: boolean } => {
  const said = parsed["aspect_ratio"]
  const ofSize = ratioOf(parsed["size"])
  return { ratio: typeof said === "string" && said !== "" ? said : ofSize, isSizeLost: !GeneratedMedia.isAbsent(parsed["size"]) && ofSize === null }
}

/** Its answers hold bytes, never addresses. */
export const encode = (parsed: Body): Encoded<null> | PublicError => {
  const refused = GeneratedMedia.onlyBytes(parsed) ?? GeneratedMedia.onlyWhole(parsed)
  if (refused !== null) return refused
  const input = ["image", "mask"].find((name) => !GeneratedMedia.isAbsent(parsed[name]))
  if (input !== undefined) return invalid(input, `This model makes images of a prompt alone: leave out '${input}'.`)
  const { image_size: imageSize, n, output_format: type, seed } = parsed
  const { isSizeLost, ratio } = formOf(parsed)
  const parameters = {
    sampleCount: n ?? 1, ...(ratio === null ? {} : { aspectRatio: ratio }), ...(GeneratedMedia.isAbsent(imageSize) ? {} : { sampleImageSize: imageSize }),
    // The vendor takes a seed only of images without its watermark.
    ...(GeneratedMedia.isAbsent(seed) ? {} : { seed, addWatermark: false }), ...(GeneratedMedia.isAbsent(type) ? {} : { outputOptions: { mimeType: `image/${String(type)}` } })
  }
  return {
    body: Buffer.from(JSON.stringify({ instances: [{ prompt: parsed["prompt"] }], parameters })), note: null,
    omitted: [...GeneratedMedia.omitted(parsed, understood), ...(isSizeLost ? ["size"] : [])]
  }
}
