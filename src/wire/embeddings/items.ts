/**
 * Structured items of an embeddings request, in their two spellings: `{type, source}`, which the gateway translates, and the
 * multimodal vendor's own (`{image: "..."}`), which is forwarded as it came. Pure.
 */
import { PublicError } from "#schemas/errors.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"

/** Items of one request. */
const mostItems = 32
/** Decoded bytes of one item's media, and of all. */
export const mostItemBytes = 8 * 1024 * 1024
export const mostBytes = 16 * 1024 * 1024

/** As the registry names what a model reads: a document is a `pdf`. */
export type Modality = "text" | "image" | "audio" | "video" | "pdf"

export interface TextPart {
  readonly modality: "text"
  readonly text: string
}

export interface InlinePart {
  readonly modality: Exclude<Modality, "text">
  readonly mediaType: string
  /** Base64. */
  readonly data: string
}

export interface RemotePart {
  readonly modality: Exclude<Modality, "text">
  readonly url: string
  /** Name of the field, for messages. */
  readonly at: string
}

export type Part = TextPart | InlinePart | RemotePart

export interface Items {
  /** In the vendor's own spelling: forwarded as they came, and nothing of them is fetched. */
  readonly native: boolean
  /** Of canonical items one for each; of native ones all parts. */
  readonly parts: ReadonlyArray<Part>
}

const mediaTypes: Readonly<Record<InlinePart["modality"], RegExp>> = {
  image: /^image\/[\w.+-]+$/i,
  audio: /^audio\/[\w.+-]+$/i,
  video: /^video\/[\w.+-]+$/i,
  pdf: /^application\/pdf$/i
}

/** Media types of a modality, as a pattern. */
export const typesOf = (modality: InlinePart["modality"]): string => mediaTypes[modality].source

/** True where the type of bytes suits the modality. */
const suits = (modality: InlinePart["modality"], mediaType: string): boolean => mediaTypes[modality].test(mediaType)

const modalityOf: Readonly<Record<string, Modality>> = { text: "text", image: "image", audio: "audio", video: "video", document: "pdf" }

const nativeKeys: ReadonlyArray<Modality> = ["text", "image", "audio", "video", "pdf"]

const base64 = /^[A-Za-z0-9+/]+={0,2}$/

/** Bytes that a base64 text stands for. */
const decodedBytes = (data: string): number => Math.floor(data.length * 3 / 4) - (data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0)

const bytesOf = (part: Part): number => "data" in part ? decodedBytes(part.data) : 0

/** The first item of a request that is structured; -1 when none is. */
export const firstOf = (input: unknown): number => Array.isArray(input) ? input.findIndex(Json.isRecord) : -1

const isHttps = (url: string): boolean => URL.parse(url)?.protocol === "https:"

const remote = (modality: RemotePart["modality"], url: string, at: string): RemotePart | PublicError =>
  isHttps(url) ? { modality, url, at } : invalid(at, `Field '${at}' must be a public HTTPS URL.`)

const inline = (modality: InlinePart["modality"], mediaType: unknown, data: unknown, at: string, typeAt: string): InlinePart | PublicError => {
  if (typeof mediaType !== "string" || !suits(modality, mediaType)) return invalid(typeAt, `Field '${typeAt}' must be a media type of ${modality === "pdf" ? "a document (application/pdf)" : modality}.`)
  if (typeof data !== "string" || !base64.test(data)) return invalid(at, `Field '${at}' must be base64.`)
  if (decodedBytes(data) > mostItemBytes) return tooLarge(at)
  return { modality, mediaType: mediaType.toLowerCase(), data }
}

const tooLarge = (at: string): PublicError => invalid(at, `Field '${at}' holds more than ${mostItemBytes} bytes: an item's media may have 8 MiB.`)

const tooMuch = (): PublicError => invalid("input", `Field 'input' holds more than ${mostBytes} bytes of media: a request may have 16 MiB.`)

const dataUri = (text: string): readonly [mediaType: string, data: string] | null => {
  const comma = text.indexOf(",")
  const head = comma < 0 ? "" : text.slice(5, comma)
  return head.endsWith(";base64") ? [head.slice(0, -";base64".length).split(";")[0] ?? "", text.slice(comma + 1)] : null
}

const canonicalOf = (item: Readonly<Record<string, unknown>>, at: string): Part | PublicError => {
  const modality = typeof item["type"] === "string" ? Json.ownValue(modalityOf, item["type"]) : undefined
  if (modality === undefined) return invalid(`${at}.type`, `Field '${at}.type' must be 'text', 'image', 'audio', 'video' or 'document'.`)
  if (modality === "text") {
    const { text } = item
    return typeof text === "string" && text !== "" ? { modality, text } : invalid(`${at}.text`, `Field '${at}.text' must be a non-empty string.`)
  }
  const source: unknown = item["source"]
  if (!Json.isRecord(source)) return invalid(`${at}.source`, `Field '${at}.source' must be {type: 'url', url} or {type: 'base64', data, media_type}.`)
  if (source["type"] === "base64") return inline(modality, source["media_type"], source["data"], `${at}.source.data`, `${at}.source.media_type`)
  if (source["type"] !== "url") return invalid(`${at}.source.type`, `Field '${at}.source.type' must be 'url' or 'base64'.`)
  const { url } = source
  const said = typeof url === "string" && url.startsWith("data:") ? dataUri(url) : null
  if (said !== null) return inline(modality, said[0], said[1], `${at}.source.url`, `${at}.source.url`)
  return remote(modality, typeof url === "string" ? url : "", `${at}.source.url`)
}

const nativeOf = (item: Readonly<Record<string, unknown>>, at: string): ReadonlyArray<Part> | PublicError => {
  const keys = [...nativeKeys, "content"].filter((key) => item[key] !== undefined)
  const [key] = keys
  if (key === undefined || keys.length > 1) return invalid(at, `Field '${at}' must have one of the keys 'text', 'image', 'audio', 'video', 'pdf' and 'content'.`)
  const value = item[key]
  if (key === "content") {
    if (!Array.isArray(value) || value.length === 0) return invalid(`${at}.content`, `Field '${at}.content' must be a non-empty list.`)
    const parts: Array<Part> = []
    for (const [i, one] of (value as ReadonlyArray<unknown>).entries()) {
      const part = !Json.isRecord(one) || one["content"] !== undefined ? invalid(`${at}.content[${i}]`, `Field '${at}.content[${i}]' must be an object such as {text} or {image}.`) : nativeOf(one, `${at}.content[${i}]`)
      if (part instanceof PublicError) return part
      parts.push(...part)
    }
    return parts
  }
  if (typeof value !== "string" || value === "") return invalid(`${at}.${key}`, `Field '${at}.${key}' must be a non-empty string.`)
  const part = nativePart(key as Modality, value, `${at}.${key}`)
  return part instanceof PublicError ? part : [part]
}

const nativePart = (modality: Modality, value: string, at: string): Part | PublicError => {
  if (modality === "text") return { modality, text: value }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(value)) return remote(modality, value, at)
  const said = value.startsWith("data:") ? dataUri(value) : null
  if (said !== null) return inline(modality, said[0], said[1], at, at)
  if (!base64.test(value)) return invalid(at, `Field '${at}' must be a public HTTPS URL, a data: URI or base64.`)
  return decodedBytes(value) > mostItemBytes ? tooLarge(at) : { modality, mediaType: "", data: value }
}

/** Decoded bytes of the media that stand inline. */
export const weightOf = (parts: ReadonlyArray<Part>): number => parts.reduce((sum, part) => sum + bytesOf(part), 0)

/** The items of a list that holds at least one object, or why they are none. */
export const read = (input: ReadonlyArray<unknown>): Items | PublicError => {
  if (input.length > mostItems) return invalid("input", `Field 'input' must have at most ${mostItems} structured items.`)
  const parts: Array<Part> = []
  const native = Json.isRecord(input[0]) && input[0]["type"] === undefined
  for (const [i, item] of input.entries()) {
    const at = `input[${i}]`
    if (!Json.isRecord(item)) return invalid(`input[${firstOf(input)}]`, "Field 'input' must hold structured items only, or none: write a text as {type: 'text', text}.")
    if ((item["type"] === undefined) !== native) return invalid(at, `Field '${at}' is spelled another way than the items before it: use {type, source} for all, or for none.`)
    const said = native ? nativeOf(item, at) : canonicalOf(item, at)
    if (said instanceof PublicError) return said
    if (Array.isArray(said)) parts.push(...said as ReadonlyArray<Part>)
    else parts.push(said as Part)
  }
  return weightOf(parts) > mostBytes ? tooMuch() : { native, parts }
}

/** Why the model cannot take the items; null when it can. `modalities`: what the registry says that it reads, null when it says nothing. */
export const refusalOf = ({ parts }: Items, model: string, modalities: ReadonlyArray<string> | null): PublicError | null => {
  const named = model.slice(0, 200)
  if (modalities === null) return invalid("input[0]", `Model '${named}' has no modality metadata: structured input needs a model that names what it reads.`)
  const wrong = parts.find(({ modality }) => !modalities.includes(modality))
  if (wrong !== undefined) return invalid("input", `Model '${named}' does not embed ${wrong.modality === "pdf" ? "documents" : wrong.modality}: it reads ${modalities.join(", ")}.`)
  return null
}
