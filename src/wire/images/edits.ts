/** Forms with images to be changed, in the vendor's public format. Pure. */
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import * as Dialects from "#src/wire/dialects.ts"
import { upstream as generateContent } from "#src/wire/generateContent/index.ts"
import * as Form from "#src/wire/form/Form.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import type { OneShotCodec } from "#src/wire/oneShot/OneShotCodec.ts"
import * as Answer from "./answer.ts"
import * as Content from "./content.ts"
import type { ImageHead } from "./request.ts"

type Body = Readonly<Record<string, unknown>>

/** Images of one form. */
const mostImages = 16

const imageRefusal = (image: unknown): PublicError | null => {
  const files = Array.isArray(image) ? image : [image]
  if (!files.every(Form.isFile)) return invalid("image", "Field 'image' is required: one or several image files, as 'image' or 'image[]'.")
  if (files.length > mostImages) return invalid("image", `A form may hold ${mostImages} images.`)
  const wrong = files.find(({ bytes, contentType }) => bytes === 0 || (contentType !== null && !/^(?:image\/|application\/octet-stream)/i.test(contentType)))
  return wrong === undefined ? null : invalid("image", wrong.bytes === 0 ? "Field 'image' holds an empty file." : `Field 'image' is ${String(wrong.contentType).slice(0, 60)} and no image.`)
}

const maskRefusal = (mask: unknown): PublicError | null => mask === undefined || Form.isFile(mask) ? null : invalid("mask", "Field 'mask' must be an image file.")

const countOf = (n: unknown): number | null => n === undefined ? 1 : typeof n === "string" && /^[1-9]\d{0,3}$/.test(n) ? Number(n) : null

const head = (body: Body): ImageHead | PublicError => {
  const count = countOf(body["n"])
  return OneShotJson.modelRefusal(body["model"], "openai/gpt-image-1") ?? imageRefusal(body["image"]) ?? OneShotJson.textRefusal(body, "prompt") ?? maskRefusal(body["mask"]) ??
    (count === null ? invalid("n", "Field 'n' must be a whole number from 1.") : { model: body["model"] as string, stream: body["stream"] === "true", wantsUsage: false, count })
}

/** Models that talk are sent a conversation with the images. */
const isContent = (family: string): boolean => family === "image-edits/content"

export const codec: OneShotCodec<ImageHead> = {
  head,
  encode: (family, asked) => {
    const { form, model } = asked
    if (form === null) return Errors.make("unsupported_media_type", "Images are sent as multipart/form-data.")
    return isContent(family) ? Content.encodeForm(asked, form) : { body: Form.withFields(form, { model }), contentType: Form.contentTypeOf(form), omitted: OneShotJson.nothing, note: null }
  },
  takesFilesInside: isContent,
  read: (family, bytes, { now }) => Answer.read(isContent(family) ? "images/content" : "image-edits", bytes, now),
  readError: (family, body) => isContent(family) ? Dialects.readError(generateContent, body) : OneShotJson.readError(body)
}
