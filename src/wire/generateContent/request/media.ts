/** Media in both directions: inline bytes, files of the vendor's store or a bucket, and addresses on the web. */
import type { MediaPart, Signature, Source } from "#schemas/wire/conversation.ts"
import * as Base64 from "#src/wire/json/base64.ts"
import { seal } from "#src/wire/signatures.ts"

/** Media types by the extension of a path, where none is given. */
const endings: Readonly<Record<string, string>> = {
  png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", webp: "image/webp", gif: "image/gif", heic: "image/heic", heif: "image/heif",
  pdf: "application/pdf", txt: "text/plain", md: "text/markdown", html: "text/html", csv: "text/csv", json: "application/json",
  mp3: "audio/mpeg", wav: "audio/wav", flac: "audio/flac", ogg: "audio/ogg", aac: "audio/aac", m4a: "audio/mp4",
  mp4: "video/mp4", webm: "video/webm", mov: "video/quicktime", mpeg: "video/mpeg"
}

/** Without any hint, what such a medium mostly is: Vertex AI refuses a file without a media type. */
const usual: Readonly<Record<MediaPart["kind"], string>> = { image: "image/jpeg", audio: "audio/mpeg", video: "video/mp4", document: "application/pdf" }

const typeByEnding = (url: string): string | null => {
  const ending = /\.([a-z0-9]{2,5})(?:[?#]|$)/i.exec(url)?.[1]?.toLowerCase() ?? ""
  return Object.hasOwn(endings, ending) ? endings[ending] ?? null : null
}

const isVideoPage = (url: string): boolean => /^https?:\/\/(?:www\.|m\.)?(?:youtube\.com|youtu\.be)\//.test(url)

export const kindOf = (mediaType: string | null): MediaPart["kind"] => {
  const family = mediaType?.split("/")[0]?.toLowerCase()
  return family === "image" || family === "audio" || family === "video" ? family : "document"
}

/** The text as standard base64 without white space; null when it is no base64. The vendor also takes the URL alphabet, others do not. */
export const standardBase64 = (text: string): string | null => {
  if (Base64.isSurelyStandard(text)) return text
  if (!/^[A-Za-z0-9+/_\s-]*(?:={1,2}\s*)?$/.test(text)) return null
  return /[\s_-]/.test(text) ? text.replace(/\s+/g, "").replaceAll("-", "+").replaceAll("_", "/") : text
}

const medium = (kind: MediaPart["kind"], source: Source, name: string | null, signature: Signature | null): MediaPart => ({
  kind, source, detail: null, name, context: null, citations: null, cache: null, signature
})

export interface InlineData {
  readonly mimeType: string
  /** Standard base64. */
  readonly data: string
  readonly displayName?: string
  /** As in a base64 source. */
  readonly checked?: true
}

export interface FileData {
  readonly fileUri: string
  readonly mimeType?: string
  readonly displayName?: string
}

export const ofInline = (inline: InlineData, signature: Signature | null): MediaPart =>
  medium(kindOf(inline.mimeType), { kind: "base64", mediaType: inline.mimeType, data: inline.data, ...(inline.checked === true ? { checked: true } : {}) }, inline.displayName ?? null, signature)

export const ofFile = (file: FileData, signature: Signature | null): MediaPart => {
  const url = file.fileUri
  const mediaType = file.mimeType ?? null
  const kind = isVideoPage(url) ? "video" : kindOf(mediaType ?? typeByEnding(url))
  const own = !/^https?:\/\//i.test(url) || url.startsWith("https://generativelanguage.googleapis.com/")
  return medium(kind, own ? { kind: "file", family: "generateContent", id: url, mediaType } : { kind: "url", url, mediaType }, file.displayName ?? null, signature)
}

/** The part of an answer that a medium is, with its signature sealed; null where the source means nothing to this vendor. */
export const mediumJson = (part: MediaPart): string | null => {
  const medium = wireMedium(part)
  if (medium === null) return null
  return JSON.stringify(part.signature === null ? medium : { ...medium, thoughtSignature: seal(part.signature, "generateContent") })
}

/** `{ inlineData }` or `{ fileData }`; null when the source means nothing to this vendor. */
export const wireMedium = (part: MediaPart): object | null => {
  const { source } = part
  switch (source.kind) {
    case "base64":
      return { inlineData: { mimeType: source.mediaType, data: source.data } }
    case "text":
      return { inlineData: { mimeType: source.mediaType ?? "text/plain", data: Buffer.from(source.text).toString("base64") } }
    case "url":
      return fileMember(source.url, source.mediaType ?? typeByEnding(source.url) ?? (isVideoPage(source.url) ? null : usual[part.kind]))
    case "file":
      return source.family === "generateContent" ? fileMember(source.id, source.mediaType) : null
  }
}

const fileMember = (fileUri: string, mimeType: string | null): object => ({ fileData: mimeType === null ? { fileUri } : { mimeType, fileUri } })
