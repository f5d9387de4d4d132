/** Media in the chat format: data URIs, links, file ids and the audio formats' short names. */
import type { MediaPart, Source } from "#schemas/wire/conversation.ts"
import * as Base64 from "#src/wire/json/base64.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"

export interface Base64Source {
  readonly kind: "base64"
  readonly mediaType: string
  readonly data: string
  readonly checked: true
}

const longestHeader = 256
const base64Text = /^[A-Za-z0-9+/_-]+={0,2}$/
const scheme = /^[a-z][a-z0-9+.-]*:\/\//i

/** `data:<type>;base64,<data>`; null for any other text. Percent-encoded data is turned into base64. */
export const parseDataUri = (uri: string): Base64Source | null => {
  if (uri.slice(0, 5).toLowerCase() !== "data:") return null
  const comma = uri.indexOf(",")
  if (comma === -1 || comma > longestHeader) return null
  const header = uri.slice(5, comma).split(";")
  const mediaType = (header[0] ?? "").trim().toLowerCase()
  const payload = uri.slice(comma + 1)
  if (header.slice(1).some((word) => word.trim().toLowerCase() === "base64")) {
    const data = base64Of(payload)
    return data === null ? null : { kind: "base64", mediaType: mediaType === "" ? "application/octet-stream" : mediaType, data, checked: true }
  }
  try {
    return { kind: "base64", mediaType: mediaType === "" ? "text/plain" : mediaType, data: Buffer.from(decodeURIComponent(payload)).toString("base64"), checked: true }
  } catch {
    return null
  }
}

/** The text without line breaks when it is base64, else null. */
export const base64Of = (text: string): string | null => {
  if (Base64.isSurely(text)) return text
  const data = /\s/.test(text) ? text.replace(/\s+/g, "") : text
  return base64Text.test(data) ? data : null
}

/** The source a URL of a part stands for; throws for what is neither a link nor a data URI. */
export const sourceOfUrl = (url: string, path: string): Source => {
  const data = parseDataUri(url)
  if (data !== null) return data
  if (url.slice(0, 5).toLowerCase() === "data:") throw invalid(path, `Field '${path}' must be a data URI of the form 'data:<media type>;base64,<data>'.`)
  if (!scheme.test(url)) throw invalid(path, `Field '${path}' must be a link such as 'https://...' or a data URI of the form 'data:<media type>;base64,<data>'.`)
  return { kind: "url", url, mediaType: null }
}

/** Data URI or link of a source, null when it is neither. */
export const urlOf = (source: Source): string | null =>
  source.kind === "base64" ? `data:${source.mediaType};base64,${source.data}` : source.kind === "url" ? source.url : null

/** What a medium is, from its type: clients also send documents and videos where the format says image. */
export const kindOf = (source: Source, otherwise: MediaPart["kind"]): MediaPart["kind"] => {
  const type = source.kind === "base64" ? source.mediaType : ""
  if (type === "" || type === "application/octet-stream") return otherwise
  if (type.startsWith("image/")) return "image"
  if (type.startsWith("audio/")) return "audio"
  return type.startsWith("video/") ? "video" : "document"
}

const audioTypes: Readonly<Record<string, string>> = { wav: "audio/wav", mp3: "audio/mpeg", pcm16: "audio/pcm" }
const audioFormats: Readonly<Record<string, string>> = {
  "audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/vnd.wave": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/pcm": "pcm16"
}

export const audioTypeOf = (format: string): string => Json.ownValue(audioTypes, format.toLowerCase()) ?? `audio/${format.toLowerCase()}`

export const audioFormatOf = (mediaType: string): string => {
  const type = mediaType.split(";")[0]?.trim().toLowerCase() ?? ""
  return Json.ownValue(audioFormats, type) ?? type.replace(/^audio\/(x-)?/, "")
}

const extensions: Readonly<Record<string, string>> = {
  "application/pdf": "pdf", "text/plain": "txt", "text/markdown": "md", "text/csv": "csv", "text/html": "html", "application/json": "json",
  "application/msword": "doc", "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx"
}

/** A file name for a document that has none: vendors want one beside the data. */
export const fileNameOf = (mediaType: string): string => `document.${Json.ownValue(extensions, mediaType) ?? "bin"}`

/** Media type by a file's name; PDF is what the format is mostly used for. */
export const typeOfFileName = (name: string): string => {
  const extension = name.slice(name.lastIndexOf(".") + 1).toLowerCase()
  return Object.keys(extensions).find((type) => extensions[type] === extension) ?? "application/pdf"
}

export const media = (kind: MediaPart["kind"], source: Source, more: Partial<MediaPart> = {}): MediaPart => ({
  kind, source, detail: null, name: null, context: null, citations: null, cache: null, signature: null, ...more
})
