/** Answers with embeddings, as each family of servers gives them and as the client is given them. Pure. */
import type { AnswerFacts, Usage } from "#actors/request/ports/Face.ts"
import type { EmbeddingFamily } from "#schemas/wire/formats.ts"
import { upstream as chatCompletions } from "#src/wire/chatCompletions/index.ts"
import { upstream as generateContent } from "#src/wire/generateContent/index.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Splice from "#src/wire/json/splice.ts"
import type { UpstreamCodec } from "#src/wire/WireFormat.ts"
import type { EmbeddingHead } from "./request.ts"
import * as Vectors from "./vectors.ts"

/** What the client asked for. */
export interface WantedVectors extends Pick<EmbeddingHead, "encoding"> {
  /** The canonical id that the answer names. */
  readonly model: string
  readonly count: number
  /** Tokens of the input, for a server that does not count them. */
  readonly estimate: () => number
}

const googles: ReadonlySet<EmbeddingFamily> = new Set(["batchEmbedContents", "predict", "embeddings/predict"])

/** Families that answer in the clients' own format. */
const common: ReadonlySet<EmbeddingFamily> = new Set(["embeddings", "embeddings/jina", "embeddings/voyage"])

/** How the family's servers tell of an error. */
export const errorsOf = (family: EmbeddingFamily): Pick<UpstreamCodec, "readError"> => googles.has(family) ? generateContent : chatCompletions

/** Null when the bytes are no answer of the family, or hold another number of vectors than was asked for. */
export const read = (family: EmbeddingFamily, bytes: Uint8Array, wanted: WantedVectors): AnswerFacts | null => {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const facts = common.has(family) ? forwarded(body, wanted) : translated(family, body, wanted)
  return facts ?? errorIn(family, body)
}

const outputText = (): string => ""

const answered = (body: Uint8Array, usage: Usage | null): AnswerFacts => ({ usage, error: null, body, outputText })

const usageOf = (input: number): Usage => ({ input, output: 0, cacheRead: 0, cacheCreation: 0, reasoning: 0 })

const numberAt = (record: Readonly<Record<string, unknown>> | null, name: string): number | null => {
  const value = record?.[name]
  return typeof value === "number" && value >= 0 ? value : null
}

const errorIn = (family: EmbeddingFamily, body: Buffer): AnswerFacts | null => {
  const parsed = Json.parseRecord(body.toString("utf8"))
  const error = parsed === null ? null : errorsOf(family).readError(parsed)
  return error === null ? null : { usage: null, error, body, outputText }
}

// ---- the client's own format ---------------------------------------------------------------------------------------------------------

/** The server's bytes with the canonical model; anew where the vectors stand in another order or encoding than the client wants. */
const forwarded = (body: Buffer, wanted: WantedVectors): AnswerFacts | null => {
  const found = Vectors.find(body)
  if (found === null || found.vectors.length !== wanted.count) return null
  const { model, usage, vectors } = found
  const counted = usage === null ? null : usage.prompt ?? usage.total
  const named = JSON.stringify(wanted.model)
  const facts = counted === null ? null : usageOf(counted)
  // Some vendors count under other names than the clients' format.
  const isCounted = usage === null || usage.prompt !== null || counted === null
  if (isCounted && isAsWanted(vectors, wanted.encoding)) {
    const open = body.indexOf("{") + 1
    return answered(model === null ? Splice.replaced(body, { start: open, end: open }, `"model":${named},`) : Splice.replaced(body, model, named), facts)
  }
  const told = usage === null ? null : Json.parseRecord(body.toString("utf8", usage.start, usage.end))
  const sorted = [...vectors].sort((a, b) => a.index - b.index)
  return answered(bodyOf(sorted.map((vector) => recoded(body, vector, wanted.encoding)), wanted.model, isCounted && told !== null ? told : tokens(counted ?? wanted.estimate())), facts)
}

/** In the order of the input, and in the encoding. */
const isAsWanted = (vectors: ReadonlyArray<Vectors.Vector>, encoding: WantedVectors["encoding"]): boolean => {
  for (let i = 0; i < vectors.length; i++) {
    const { index, isText } = vectors[i] as Vectors.Vector
    if (index !== i || (encoding !== null && isText !== (encoding === "base64"))) return false
  }
  return true
}

/** JSON text of a vector in the encoding. */
const recoded = (body: Buffer, { end, isText, start }: Vectors.Vector, encoding: WantedVectors["encoding"]): string => {
  const text = body.toString("latin1", start, end)
  if (encoding === null || isText === (encoding === "base64")) return text
  return isText ? JSON.stringify(Array.from(floatsIn(JSON.parse(text) as string))) : JSON.stringify(base64Of(JSON.parse(text) as ReadonlyArray<number>))
}

/** Four bytes a number, the lowest first. */
const base64Of = (values: ReadonlyArray<number>): string => {
  const bytes = Buffer.allocUnsafe(values.length * 4)
  for (let i = 0; i < values.length; i++) bytes.writeFloatLE(values[i] as number, i * 4)
  return bytes.toString("base64")
}

const floatsIn = (text: string): ReadonlyArray<number> => {
  const bytes = Buffer.from(text, "base64")
  return Array.from({ length: bytes.length >> 2 }, (_, i) => bytes.readFloatLE(i * 4))
}

const tokens = (input: number) => ({ prompt_tokens: input, total_tokens: input })

/** `vectors`: JSON texts, in the order of the input. */
const bodyOf = (vectors: ReadonlyArray<string>, model: string, usage: object): Buffer => {
  const data = vectors.map((vector, index) => `{"object":"embedding","index":${index},"embedding":${vector}}`).join(",")
  return Buffer.from(`{"object":"list","data":[${data}],"model":${JSON.stringify(model)},"usage":${JSON.stringify(usage)}}`)
}

// ---- other families ------------------------------------------------------------------------------------------------------------------

const recordsAt = (record: Readonly<Record<string, unknown>>, name: string): ReadonlyArray<Record<string, unknown>> => {
  const list: unknown = record[name]
  return Array.isArray(list) ? list.filter(Json.isRecord) : []
}

const isVector = (value: unknown): value is ReadonlyArray<number> => Array.isArray(value) && value.every((one) => typeof one === "number")

interface Found {
  /** In the order of the input. */
  readonly vectors: ReadonlyArray<unknown>
  /** Tokens that the server counted; null when it did not. */
  readonly counted: number | null
}

const ofPredictions = (parsed: Readonly<Record<string, unknown>>): Found => {
  const places = recordsAt(parsed, "predictions").map((one) => Json.recordAt(one, "embeddings") ?? {})
  return { vectors: places.map((place) => place["values"]), counted: statisticsOf(places) }
}

/** One vector for each instance: of its text, its image, or the first segment of its video. */
const ofMultimodal = (parsed: Readonly<Record<string, unknown>>): Found => ({
  vectors: recordsAt(parsed, "predictions").map((one) => one["textEmbedding"] ?? one["imageEmbedding"] ?? recordsAt(one, "videoEmbeddings")[0]?.["embedding"]),
  counted: null
})

const ofContents = (parsed: Readonly<Record<string, unknown>>): Found => ({
  vectors: recordsAt(parsed, "embeddings").map((place) => place["values"]), counted: numberAt(Json.recordAt(parsed, "usageMetadata"), "promptTokenCount")
})

const ofCohere = (parsed: Readonly<Record<string, unknown>>): Found => {
  const vectors: unknown = Json.recordAt(parsed, "embeddings")?.["float"]
  const billed = Json.recordAt(Json.recordAt(parsed, "meta") ?? {}, "billed_units")
  const tokensOf = numberAt(billed, "input_tokens")
  const images = numberAt(billed, "image_tokens")
  return { vectors: Array.isArray(vectors) ? vectors : [], counted: tokensOf === null && images === null ? null : (tokensOf ?? 0) + (images ?? 0) }
}

const ofFamily: Partial<Readonly<Record<EmbeddingFamily, (parsed: Readonly<Record<string, unknown>>) => Found>>> = {
  batchEmbedContents: ofContents,
  predict: ofPredictions,
  "embeddings/predict": ofMultimodal,
  "embeddings/cohere": ofCohere
}

const translated = (family: EmbeddingFamily, body: Buffer, wanted: WantedVectors): AnswerFacts | null => {
  const parsed = Json.parseRecord(body.toString("utf8"))
  const find = ofFamily[family]
  if (parsed === null || find === undefined) return null
  const { counted, vectors: found } = find(parsed)
  const vectors = found.filter(isVector)
  if (vectors.length === 0 || vectors.length !== wanted.count) return null
  const texts = vectors.map((vector) => JSON.stringify(wanted.encoding === "base64" ? base64Of(vector) : vector))
  return answered(bodyOf(texts, wanted.model, tokens(counted ?? wanted.estimate())), counted === null ? null : usageOf(counted))
}

/** Tokens that the server counted for all vectors; null when it did not for one. */
const statisticsOf = (places: ReadonlyArray<Record<string, unknown>>): number | null => places.reduce<number | null>((sum, place) => {
  const count = numberAt(Json.recordAt(place, "statistics"), "token_count")
  return sum === null || count === null ? null : sum + count
}, 0)
