/** Images of Google's models that talk: one conversation whose answer holds pictures. Pure. */
import { isStored } from "#actors/request/ports/Body.ts"
import type { AnswerFacts, Usage } from "#actors/request/ports/Face.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { Form } from "#src/wire/form/Form.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as GeneratedMedia from "#src/wire/oneShot/generatedMedia.ts"
import * as InlineImage from "#src/wire/oneShot/inlineImage.ts"
import type { Asked, Encoded } from "#src/wire/oneShot/OneShotCodec.ts"
import type { Json as Body } from "#src/wire/WireFormat.ts"
import { namedImages } from "./inputs.ts"
import { formOf } from "./predict.ts"

const understood: ReadonlySet<string> = new Set(["model", "prompt", "n", "size", "response_format", "stream", "aspect_ratio", "image_size", "seed", "image", "mask"])

export const encode = ({ media = [], parsed }: Asked): Encoded<null> | PublicError => {
  const inlines: Array<InlineImage.Inline> = []
  for (const { address, at } of namedImages(parsed).filter((image) => image.at !== "mask")) {
    const inline = address === null ? null : InlineImage.of(address, media)
    if (inline === null) return invalid(at, `Field '${at}' must be base64 where it is a data: URI.`)
    inlines.push(inline)
  }
  return ofImages(parsed, inlines)
}

/** A form with images to be changed. */
export const encodeForm = ({ parsed }: Asked, form: Form): Encoded<null> | PublicError => {
  const files = form.parts.filter(({ filename, name }) => filename !== null && (name === "image" || name === "image[]"))
  const { n, ...others } = parsed
  return ofImages({ ...others, ...(GeneratedMedia.isAbsent(n) ? {} : { n: Number(n) }) }, files.map(({ content, contentType }) => ({
    mimeType: contentType !== null && /^image\/[\w.+-]+$/i.test(contentType) ? contentType : usualType, base64: isStored(content) ? "" : Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("base64")
  })))
}

/** What an image is whose form does not say it. */
const usualType = "image/png"

const ofImages = (parsed: Body, inlines: ReadonlyArray<InlineImage.Inline>): Encoded<null> | PublicError => {
  const refused = GeneratedMedia.onlyOne(parsed, "image") ?? GeneratedMedia.onlyBytes(parsed) ?? GeneratedMedia.onlyWhole(parsed)
  if (refused !== null) return refused
  if (!GeneratedMedia.isAbsent(parsed["mask"])) return invalid("mask", "This model takes no mask: say in the prompt what is to be changed.")
  const parts = [
    ...(GeneratedMedia.isAbsent(parsed["prompt"]) ? [] : [{ text: parsed["prompt"] }]), ...inlines.map(({ base64, mimeType }) => ({ inlineData: { mimeType, data: base64 } }))
  ]
  const { image_size: imageSize, seed } = parsed
  const { isSizeLost, ratio } = formOf(parsed)
  const imageConfig = { ...(ratio === null ? {} : { aspectRatio: ratio }), ...(GeneratedMedia.isAbsent(imageSize) ? {} : { imageSize }) }
  const generationConfig = {
    responseModalities: ["TEXT", "IMAGE"], ...(GeneratedMedia.isAbsent(seed) ? {} : { seed }), ...(Object.keys(imageConfig).length === 0 ? {} : { imageConfig })
  }
  return {
    body: Buffer.from(JSON.stringify({ contents: [{ role: "user", parts }], generationConfig })), note: null,
    omitted: [...GeneratedMedia.omitted(parsed, understood), ...(isSizeLost ? ["size"] : [])]
  }
}

const countAt = (record: unknown, name: string): number => Json.isRecord(record) && typeof record[name] === "number" && record[name] >= 0 ? record[name] : 0

const usageOf = ({ usageMetadata: counts }: Body): Usage => ({
  input: countAt(counts, "promptTokenCount"), output: countAt(counts, "candidatesTokenCount") + countAt(counts, "thoughtsTokenCount"), cacheRead: countAt(counts, "cachedContentTokenCount"),
  cacheCreation: 0, reasoning: countAt(counts, "thoughtsTokenCount")
})

const partsIn = ({ candidates }: Body): ReadonlyArray<Body> => {
  const [first]: ReadonlyArray<unknown> = Array.isArray(candidates) ? candidates : []
  const parts = Json.isRecord(first) && Json.isRecord(first["content"]) ? first["content"]["parts"] : null
  return Array.isArray(parts) ? parts.filter(Json.isRecord) : []
}

const reasonIn = ({ candidates, promptFeedback }: Body): string | null => {
  if (Json.isRecord(promptFeedback) && typeof promptFeedback["blockReason"] === "string") return promptFeedback["blockReason"]
  const [first]: ReadonlyArray<unknown> = Array.isArray(candidates) ? candidates : []
  const reason = Json.isRecord(first) ? first["finishReason"] : null
  return typeof reason === "string" && reason !== "STOP" && reason !== "MAX_TOKENS" ? reason : null
}

/** Null without an image and without the reason for it. `created`: Unix seconds. */
export const read = (bytes: Uint8Array, answer: Body, created: number): AnswerFacts | null => {
  const parts = partsIn(answer)
  // A picture of a thought is a draft.
  const data = parts.flatMap(({ inlineData, thought }) =>
    thought !== true && Json.isRecord(inlineData) && typeof inlineData["data"] === "string" ? [{ b64_json: inlineData["data"] }] : [])
  if (data.length > 0) return { ...GeneratedMedia.answered(created, data, { image: data.length }), usage: usageOf(answer) }
  const reason = reasonIn(answer)
  return reason === null ? null : GeneratedMedia.failed(bytes, GeneratedMedia.failure(`The provider made no image: ${reason}.`, "content_policy_violation", 400))
}
