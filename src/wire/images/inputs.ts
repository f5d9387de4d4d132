/** Images that a request for images names by address. Pure. */
import * as InlineImage from "#src/wire/oneShot/inlineImage.ts"
import type { Json as Body } from "#src/wire/WireFormat.ts"

const listOf = (image: unknown): ReadonlyArray<unknown> => image === undefined || image === null ? [] : Array.isArray(image) ? image : [image]

/** Every image and mask of the request with the name of its field; an address is null where none is said. */
export const namedImages = (body: Body): ReadonlyArray<{ readonly at: string; readonly address: string | null }> => [
  ...listOf(body["image"]).map((one, i, all) => ({ at: all.length === 1 ? "image" : `image[${i}]`, address: InlineImage.addressOf(one) })),
  ...listOf(body["mask"]).map((one) => ({ at: "mask", address: InlineImage.addressOf(one) }))
]
