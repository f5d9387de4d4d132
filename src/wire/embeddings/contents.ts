/**
 * Requests for embeddings as Google's clients write them: `:embedContent` with one content, `:batchEmbedContents` with a list of
 * requests (https://ai.google.dev/api/embeddings). Each content becomes one vector. Pure.
 */
import { PublicError } from "#schemas/errors.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import * as Json from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import type { Asked, Encoded, OneShotCodec } from "#src/wire/oneShot/OneShotCodec.ts"
import * as OneShotJson from "#src/wire/oneShot/oneShotJson.ts"
import { codec as embeddings } from "./codec.ts"
import type { EmbeddingHead } from "./request.ts"

type Members = Readonly<Record<string, unknown>>

export interface ContentsNote {
  /** Vectors that are asked for. */
  readonly count: number
  /** One content was asked for, outside of a list. */
  readonly single: boolean
}

const head = (body: Members): EmbeddingHead | PublicError => {
  const { content, model, requests } = body
  const refusal = OneShotJson.modelRefusal(model, "gemini/gemini-embedding-001")
  if (refusal !== null) return refusal
  if (requests !== undefined && (!Array.isArray(requests) || requests.length === 0 || !requests.every(Json.isRecord))) return invalid("requests", "Field 'requests' must be a non-empty list of objects.")
  if (requests === undefined && !Json.isRecord(content)) return invalid("content", "Field 'content' must be an object with 'parts'.")
  return { model: model as string, stream: false, wantsUsage: false, encoding: "float" }
}

const requestsOf = (parsed: Members): ReadonlyArray<Members> => Array.isArray(parsed["requests"]) ? parsed["requests"].filter(Json.isRecord) : [parsed]

const kinds: ReadonlyArray<readonly [prefix: string, type: string]> = [["image/", "image"], ["audio/", "audio"], ["video/", "video"], ["application/pdf", "document"]]

/** A part in the words of `POST /v1/embeddings`. */
const itemOf = (part: unknown, at: string): Members | PublicError => {
  if (Json.isRecord(part) && typeof part["text"] === "string" && part["text"] !== "") return { type: "text", text: part["text"] }
  const blob: unknown = Json.isRecord(part) ? part["inlineData"] ?? part["inline_data"] : undefined
  if (!Json.isRecord(blob)) return invalid(at, `Field '${at}' must have 'text' or 'inlineData'.`)
  const mediaType: unknown = blob["mimeType"] ?? blob["mime_type"]
  const kind = typeof mediaType === "string" ? kinds.find(([prefix]) => mediaType.startsWith(prefix)) : undefined
  if (kind === undefined) return invalid(`${at}.inlineData.mimeType`, `Field '${at}.inlineData.mimeType' must be a type of image, audio or video, or application/pdf.`)
  return { type: kind[1], source: { type: "base64", data: blob["data"], media_type: mediaType } }
}

/** The items of each content. */
const itemsOf = (parsed: Members): ReadonlyArray<ReadonlyArray<Members>> | PublicError => {
  const contents: Array<ReadonlyArray<Members>> = []
  for (const [i, request] of requestsOf(parsed).entries()) {
    const at = parsed["requests"] === undefined ? "content" : `requests[${i}].content`
    const parts: unknown = Json.recordAt(request, "content")?.["parts"]
    if (!Array.isArray(parts) || parts.length === 0) return invalid(`${at}.parts`, `Field '${at}.parts' must be a non-empty list.`)
    const items: Array<Members> = []
    for (const [p, part] of (parts as ReadonlyArray<unknown>).entries()) {
      const item = itemOf(part, `${at}.parts[${p}]`)
      if (item instanceof PublicError) return item
      items.push(item)
    }
    contents.push(items)
  }
  return contents
}

const isText = (item: Members): boolean => item["type"] === "text"

/** What other vendors take for one vector: a text, or one medium. */
const single = (items: ReadonlyArray<Members>, i: number): Members | PublicError => {
  const [first] = items
  if (first !== undefined && items.length === 1) return first
  return items.every(isText)
    ? { type: "text", text: items.map(({ text }) => text).join("\n") }
    : invalid(`requests[${i}].content.parts`, "This model makes one vector of a text or of one medium: send each part as a content of its own.")
}

const settings = ["taskType", "title", "outputDimensionality"]

const encodeAny = (family: TargetFamily, asked: Asked): Encoded<number> | PublicError => {
  const { model, parsed } = asked
  const contents = itemsOf(parsed)
  if (contents instanceof PublicError) return contents
  const { dimensions } = asked
  const requests = requestsOf(parsed).map((request) => dimensions === undefined || dimensions === null ? request : { outputDimensionality: dimensions, ...request })
  const all = contents.flat()
  // Checks of items are those of the other face; the vendor's own format then goes on as it came.
  if (family === "batchEmbedContents") {
    const refusal = all.every(isText) ? null : embeddings.encode(family, neutral(asked, { input: all }))
    if (refusal instanceof PublicError) return refusal
    const named = requests.map(({ content, ...request }) => ({ ...Object.fromEntries(settings.flatMap((name) => request[name] === undefined ? [] : [[name, request[name]]])), model: `models/${model}`, content }))
    return { body: Buffer.from(JSON.stringify({ requests: named })), note: named.length, omitted: OneShotJson.nothing }
  }
  const items: Array<Members> = []
  for (const [i, one] of contents.entries()) {
    const item = single(one, i)
    if (item instanceof PublicError) return item
    items.push(item)
  }
  const [{ outputDimensionality, taskType, title } = {} as Members] = requests
  const input = items.every(isText) ? items.map(({ text }) => text) : items
  const says = family === "predict"
  const made = embeddings.encode(family, neutral(asked, { input, dimensions: outputDimensionality, encoding_format: family === "embeddings" ? "float" : undefined, ...(says ? { task_type: taskType, title } : {}) }))
  if (made instanceof PublicError) return made
  const left = says ? OneShotJson.nothing : ["taskType", "title"].filter((name) => requests.some((request) => request[name] !== undefined))
  return { ...made, omitted: [...made.omitted, ...left] }
}

/** The same request as the other face writes it. */
const neutral = (asked: Asked, body: Members): Asked => {
  const bytes = Buffer.from(JSON.stringify({ model: asked.model, ...body }))
  return { ...asked, bytes, parsed: JSON.parse(bytes.toString("utf8")) as Record<string, unknown> }
}

const valuesIn = (body: Uint8Array): Members | null => {
  const parsed = OneShotJson.recordOf(body)
  return parsed === null || !Array.isArray(parsed["data"]) ? null : parsed
}

export const codec: OneShotCodec<EmbeddingHead, ContentsNote> = {
  head,
  encode: (family, asked) => {
    const made = encodeAny(family, asked)
    return made instanceof PublicError ? made : { ...made, note: { count: made.note, single: asked.parsed["requests"] === undefined } }
  },
  read: (family, bytes, wanted) => {
    const facts = embeddings.read(family, bytes, { ...wanted, note: wanted.note.count })
    if (facts === null || facts.error !== null) return facts
    const body = valuesIn(facts.body)
    if (body === null) return null
    const vectors = (body["data"] as ReadonlyArray<Members>).map(({ embedding }) => ({ values: embedding }))
    const input = Json.recordAt(body, "usage")?.["prompt_tokens"]
    const answer = { ...(wanted.note.single ? { embedding: vectors[0] } : { embeddings: vectors }), ...(typeof input === "number" ? { usageMetadata: { promptTokenCount: input } } : {}) }
    return { ...facts, body: Buffer.from(JSON.stringify(answer)) }
  },
  readError: embeddings.readError
}
