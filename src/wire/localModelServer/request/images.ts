/** Images of local model servers: bare base64, whose media type only its first bytes tell. */
import type { MediaPart } from "#schemas/wire/conversation.ts"
import * as Base64 from "#src/wire/json/base64.ts"

/** Beginnings of base64 text, by media type. */
const beginnings: ReadonlyArray<readonly [string, string]> = [
  ["iVBORw0KGgo", "image/png"], ["/9j/", "image/jpeg"], ["R0lGOD", "image/gif"], ["UklGR", "image/webp"], ["Qk", "image/bmp"],
  ["AAAAIGZ0eXBhdmlm", "image/avif"]
]
const dataUri = /^data:([^;,]*)(?:;[^,]*)?;base64,/
const base64 = /^[A-Za-z0-9+/]*={0,2}$/

const part = (mediaType: string, data: string): MediaPart => ({
  kind: "image", source: { kind: "base64", mediaType, data, checked: true }, detail: null, name: null, context: null, citations: null, cache: null, signature: null
})

/** An image of the wire; null when the text is no base64. A `data:` prefix is understood though the vendor has none. */
export const imageOf = (text: string): MediaPart | null => {
  const prefix = text.startsWith("data:") ? dataUri.exec(text) : null
  const bare = prefix === null ? text : text.slice(prefix[0].length)
  const isSure = Base64.isSurelyStandard(bare)
  const data = !isSure && /\s/.test(bare) ? bare.replace(/\s+/g, "") : bare
  if (data === "" || !(isSure || base64.test(data))) return null
  const said = prefix?.[1] ?? ""
  return part(said !== "" ? said : beginnings.find(([start]) => data.startsWith(start))?.[1] ?? "image/png", data)
}

/** The base64 that the format can carry; null for an image that is anywhere else. */
export const dataOf = (image: MediaPart): string | null => {
  if (image.kind !== "image") return null
  const { source } = image
  if (source.kind === "base64") return source.data
  const prefix = source.kind === "url" ? dataUri.exec(source.url) : null
  return prefix === null || source.kind !== "url" ? null : source.url.slice(prefix[0].length)
}
