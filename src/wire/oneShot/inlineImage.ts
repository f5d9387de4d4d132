/** Images that a request names by address: an https URL, or the bytes themselves as a `data:` URI. Pure. */
import * as Json from "#src/wire/json/json.ts"
import type { FetchedMedium } from "./OneShotCodec.ts"

/** The address of an image: a text, or an object with it; null when it is none. */
export const addressOf = (image: unknown): string | null => {
  const address = Json.isRecord(image) ? image["url"] ?? image["image_url"] : image
  return typeof address === "string" && /^(?:https:\/\/|data:image\/)/i.test(address) ? address : null
}

export interface Inline {
  readonly mimeType: string
  readonly base64: string
}

/** The bytes of an image: fetched, or the client's own; null when they are neither. */
export const of = (address: string, fetched: ReadonlyArray<FetchedMedium>): Inline | null => {
  const found = fetched.find(({ url }) => url === address)
  if (found !== undefined) return { mimeType: found.mediaType, base64: Buffer.from(found.bytes).toString("base64") }
  const comma = address.indexOf(",")
  const [, mimeType] = /^data:(image\/[\w.+-]+);base64$/i.exec(address.slice(0, Math.max(0, comma))) ?? []
  return mimeType === undefined ? null : { mimeType, base64: address.slice(comma + 1) }
}
